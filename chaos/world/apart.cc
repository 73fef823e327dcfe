#include "chaos/world/apart.h"

#include "common/assert.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace gcoord::chaos {
namespace {

bool write_all(int pipe, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(pipe, text.data() + done, text.size() - done);
    if (written <= 0) {
      return false;
    }
    done += static_cast<std::size_t>(written);
  }
  return true;
}

// Reads what there is. True when the process has said all.
bool read_some(int pipe, std::string& text) {
  char bytes[4096];
  const ssize_t count = ::read(pipe, bytes, sizeof bytes);
  if (count > 0) {
    text.append(bytes, static_cast<std::size_t>(count));
  }
  return count == 0 || (count < 0 && errno != EINTR);
}

std::string death_of(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {};
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    return "the run does not end";
  }
  return "the process ended with signal " +
         std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : 0) +
         "; its last words are on stderr";
}

}  // namespace

void Apart::begin(const Task& task, OnEnd on_end) {
  int ends[2] = {-1, -1};
  GCOORD_ASSERT(::pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t process = ::fork();
  GCOORD_ASSERT(process >= 0);
  if (process == 0) {
    ::close(ends[0]);
    ::alarm(seconds_max_);
    ::_exit(write_all(ends[1], task()) ? 0 : 1);
  }
  ::close(ends[1]);
  under_way_.push_back({process, ends[0], {}, std::move(on_end)});
}

void Apart::wait() {
  std::vector<pollfd> waits;
  for (const Process& process : under_way_) {
    waits.push_back({process.pipe, POLLIN, 0});
  }
  ::poll(waits.data(), waits.size(), -1);
  for (std::size_t k = waits.size(); k-- > 0;) {
    if (waits[k].revents == 0 || !read_some(under_way_[k].pipe, under_way_[k].text)) {
      continue;
    }
    Process ended = std::move(under_way_[k]);
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(k));
    ::close(ended.pipe);
    int status = 0;
    while (::waitpid(ended.id, &status, 0) < 0 && errno == EINTR) {
    }
    ended.on_end({std::move(ended.text), death_of(status)});
  }
}

ApartResult run_one_apart(const Apart::Task& task, unsigned seconds_max) {
  Apart apart(1, seconds_max);
  ApartResult ended;
  apart.begin(task, [&ended](const ApartResult& result) { ended = result; });
  while (!apart.idle()) {
    apart.wait();
  }
  return ended;
}

}  // namespace gcoord::chaos
