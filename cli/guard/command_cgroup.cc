#include "cli/guard/command_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace gcoord::cli {

namespace {

// Where the hierarchy of version 2 is mounted whole; empty where it is not. proc(5), mountinfo.
std::filesystem::path mount_point() {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string skipped;
    std::string root;
    std::string point;
    fields >> skipped >> skipped >> skipped >> root >> point;
    if (line.find(" - cgroup2 ") != std::string::npos && root == "/") {
      return point;
    }
  }
  return {};
}

// The cgroup of this process in that hierarchy, as "/a/b". cgroups(7).
std::string own_place() {
  std::ifstream places("/proc/self/cgroup");
  for (std::string line; std::getline(places, line);) {
    if (line.starts_with("0::/")) {
      return line.substr(3);
    }
  }
  return {};
}

bool is_delegated(const std::filesystem::path& cgroup) {
  for (const char* name : {"user.delegate", "trusted.delegate"}) {
    char value = 0;
    if (::getxattr(cgroup.c_str(), name, &value, 1) == 1 && value == '1') {
      return true;
    }
  }
  return false;
}

bool write_word(const std::filesystem::path& file, const std::string& word) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) {
    return false;
  }
  const bool written = ::write(fd, word.data(), word.size()) == static_cast<ssize_t>(word.size());
  ::close(fd);
  return written;
}

}  // namespace

std::optional<CommandCgroup> CommandCgroup::make() {
  const std::filesystem::path mounted = mount_point();
  const std::string place = own_place();
  if (mounted.empty() || place.empty()) {
    return std::nullopt;
  }
  const std::filesystem::path outer = mounted.string() + place;
  const std::filesystem::path own = outer / ("gcoord-run-" + std::to_string(::getpid()));
  if (!is_delegated(outer) || ::mkdir(own.c_str(), 0755) != 0) {
    return std::nullopt;
  }
  CommandCgroup made{outer, own};
  const bool kills = ::access((own / "cgroup.kill").c_str(), W_OK) == 0;
  return kills ? std::optional{std::move(made)} : std::nullopt;
}

CommandCgroup::~CommandCgroup() {
  if (!own_.empty()) {
    ::rmdir(own_.c_str());
  }
}

CommandCgroup::CommandCgroup(CommandCgroup&& other) noexcept
    : outer_(std::exchange(other.outer_, {})), own_(std::exchange(other.own_, {})) {}

CommandCgroup& CommandCgroup::operator=(CommandCgroup&& other) noexcept {
  std::swap(outer_, other.outer_);
  std::swap(own_, other.own_);
  return *this;
}

bool CommandCgroup::enter() const {
  return write_word(own_ / "cgroup.procs", std::to_string(::getpid()));
}

bool CommandCgroup::leave() const {
  return write_word(outer_ / "cgroup.procs", std::to_string(::getpid()));
}

void CommandCgroup::kill() const {
  write_word(own_ / "cgroup.kill", "1");
}

}  // namespace gcoord::cli
