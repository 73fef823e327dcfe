// A folder for the files of one test, in the build tree: it goes away with its object.
//
// A test that is killed leaves its folder behind. The next one that is made wipes every folder that
// nobody holds any more, so none pile up, whoever runs how many tests at once: who has a folder
// holds a lock on it, and the system gives that up when a process ends, however it ends. Names are
// short, for sockets. TEST_TMPDIR, as gtest has it, names another place for all of them.
#pragma once

#include "common/assert.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace gcoord {

class ScratchFolder {
 public:
  // Inside `parent`, which is made too if absent.
  explicit ScratchFolder(const std::filesystem::path& parent = scratch_parent()) {
    std::filesystem::create_directories(parent);
    wipe_abandoned(parent);
    while (!make_in(parent)) {
    }
  }

  ~ScratchFolder() {
    remove(path_);
    ::close(held_);
  }

  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // A name in it.
  std::string path(std::string_view name) const { return (path_ / name).string(); }

  // tests/scratch of the build whose bin this program lies in.
  static std::filesystem::path scratch_parent() {
    if (const char* chosen = std::getenv("TEST_TMPDIR"); chosen != nullptr && *chosen != '\0') {
      return std::filesystem::absolute(chosen);
    }
    const auto program = std::filesystem::read_symlink("/proc/self/exe");
    return program.parent_path().parent_path() / "tests" / "scratch";
  }

 private:
  static constexpr std::string_view kPrefix = "s-";

  static void remove(const std::filesystem::path& folder) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  static int open_folder(const std::filesystem::path& folder) {
    return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }

  static void wipe_abandoned(const std::filesystem::path& parent) {
    std::error_code gone;
    for (const auto& each : std::filesystem::directory_iterator(parent, gone)) {
      if (!each.path().filename().string().starts_with(kPrefix)) {
        continue;
      }
      const int folder = open_folder(each.path());
      if (folder >= 0 && ::flock(folder, LOCK_EX | LOCK_NB) == 0) {
        remove(each.path());
      }
      ::close(folder);
    }
  }

  // False when it was taken for an abandoned one before it was held.
  bool make_in(const std::filesystem::path& parent) {
    std::string pattern = (parent / (std::string{kPrefix} + "XXXXXX")).string();
    GCOORD_ASSERT(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
    held_ = open_folder(path_);
    if (held_ < 0) {
      return false;
    }
    while (::flock(held_, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (std::filesystem::exists(path_)) {
      return true;
    }
    ::close(held_);
    return false;
  }

  std::filesystem::path path_;
  int held_ = -1;
};

}  // namespace gcoord
