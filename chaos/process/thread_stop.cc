#include "chaos/process/thread_stop.h"

#include "common/assert.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace gcoord::chaos {

namespace {

// A tracer may begin with a child of its own anywhere but where that is forbidden altogether.
std::string try_a_child() {
  const pid_t child = ::fork();
  if (child < 0) {
    return "no process can be made";
  }
  if (child == 0) {
    for (;;) {
      ::pause();
    }
  }
  const bool traced = ::ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0;
  const int error = errno;
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  return traced ? std::string{}
                : "the system forbids ptrace of children: " + std::string{std::strerror(error)};
}

// What the tracer is told of a thread next; 0 with WNOHANG: nothing. Negative: it is not traced.
pid_t wait_for(pid_t thread, int* status, int options) {
  pid_t found = -1;
  do {
    found = ::waitpid(thread, status, __WALL | options);
  } while (found < 0 && errno == EINTR);
  return found;
}

}  // namespace

const std::string& thread_stop_obstacle() {
  static const std::string obstacle = try_a_child();
  return obstacle;
}

std::vector<pid_t> threads_named(pid_t process, const std::string& prefix) {
  std::vector<pid_t> found;
  std::error_code error;
  const auto tasks = std::filesystem::path("/proc") / std::to_string(process) / "task";
  for (std::filesystem::directory_iterator entry(tasks, error), last; !error && entry != last;
       entry.increment(error)) {
    const std::string digits = entry->path().filename().string();
    pid_t thread = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), thread);
    std::string name;
    std::getline(std::ifstream{entry->path() / "comm"}, name);
    if (thread != process && name.starts_with(prefix)) {
      found.push_back(thread);
    }
  }
  std::ranges::sort(found);
  return found;
}

Result<ThreadStop> ThreadStop::begin(pid_t thread) {
  GCOORD_ASSERT(thread > 0);
  if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
    return Status{errno == ESRCH ? StatusCode::NotFound : StatusCode::FailedPrecondition,
                  "a thread cannot be traced: " + std::string{std::strerror(errno)}};
  }
  ThreadStop stop{thread};
  ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  int status = 0;
  if (wait_for(thread, &status, 0) != thread || !WIFSTOPPED(status)) {
    stop.thread_ = 0;
    stop.ended_ = true;
    return Status{StatusCode::NotFound, "the thread has ended"};
  }
  // Without an event it stopped because a signal came first.
  stop.signal_ = status >> 16 == 0 ? WSTOPSIG(status) : 0;
  return stop;
}

ThreadStop::ThreadStop(ThreadStop&& other) noexcept
    : thread_(std::exchange(other.thread_, 0)), signal_(other.signal_), ended_(other.ended_) {}

ThreadStop::~ThreadStop() {
  end();
}

void ThreadStop::end() {
  if (thread_ != 0 && !ended() && ::ptrace(PTRACE_DETACH, thread_, nullptr, signal_) != 0) {
    // Nobody else can wake it but its end, of which somebody has to take note.
    wait_for(thread_, nullptr, 0);
    ended_ = true;
  }
  thread_ = 0;
}

bool ThreadStop::ended() {
  int status = 0;
  if (thread_ != 0 && wait_for(thread_, &status, WNOHANG) == thread_ && !WIFSTOPPED(status)) {
    thread_ = 0;
    ended_ = true;
  }
  return ended_;
}

}  // namespace gcoord::chaos
