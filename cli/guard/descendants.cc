#include "cli/guard/descendants.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

namespace gcoord::cli {

namespace {

// Fields of /proc/PID/stat behind the name, which is in brackets and may have any bytes; proc(5).
constexpr int kFieldsFromParentToBegin = 17;

std::optional<SeenProcess> look_at(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream fields(text.substr(name_end + 1));
  SeenProcess seen{.pid = pid};
  char state = 0;
  std::string skipped;
  fields >> state >> seen.parent;
  for (int field = 0; field < kFieldsFromParentToBegin; ++field) {
    fields >> skipped;
  }
  fields >> seen.begun;
  seen.ended = state == 'Z' || state == 'X';
  return fields ? std::optional{seen} : std::nullopt;
}

std::vector<SeenProcess> all_processes() {
  std::vector<SeenProcess> all;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", unreadable)) {
    const std::string name = entry.path().filename().string();
    const bool number = std::ranges::all_of(
        name, [](char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; });
    if (const auto seen = number ? look_at(std::atoi(name.c_str())) : std::nullopt) {
      all.push_back(*seen);
    }
  }
  return all;
}

// By a descriptor, so that the signal is for the process that was seen and for no later one.
void kill_seen(const SeenProcess& seen) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, seen.pid, 0));
  if (fd < 0) {
    return;
  }
  const auto now = look_at(seen.pid);
  if (now.has_value() && now->begun == seen.begun) {
    ::syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0);
  }
  ::close(fd);
}

}  // namespace

std::vector<SeenProcess> living_descendants(pid_t ancestor) {
  std::vector<SeenProcess> unplaced = all_processes();
  std::vector<SeenProcess> found{{.pid = ancestor}};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const pid_t parent = found[next].pid;
    const auto children =
        std::stable_partition(unplaced.begin(), unplaced.end(), [parent](const SeenProcess& each) {
          return each.parent != parent;
        });
    found.insert(found.end(), children, unplaced.end());
    unplaced.erase(children, unplaced.end());
  }
  found.erase(found.begin());
  std::erase_if(found, [](const SeenProcess& each) { return each.ended; });
  return found;
}

void inherit_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void reap_orphans(pid_t spared) {
  while (true) {
    siginfo_t found{};
    if (::waitid(P_ALL, 0, &found, WEXITED | WNOHANG | WNOWAIT) < 0 || found.si_pid == 0 ||
        found.si_pid == spared) {
      return;
    }
    ::waitpid(found.si_pid, nullptr, WNOHANG);
  }
}

// Whoever has a descendant has a child: the first of the line. So the end of each child is waited
// for, and after it what its own children became is looked at and killed. A process that was born
// behind a look has a parent that was killed by then, and is this process's child soon.
void kill_descendants() {
  while (true) {
    for (const SeenProcess& seen : living_descendants(::getpid())) {
      kill_seen(seen);
    }
    if (::waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) {
      return;
    }
  }
}

}  // namespace gcoord::cli
