#include "cli/gcoordd/temporary_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace gcoord {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "gcoord-dev-";

// Another process that starts may take a new directory for an abandoned one. Not this often.
constexpr int kTriesMax = 16;

void remove_tree(const fs::path& directory) {
  std::error_code ignored;
  fs::remove_all(directory, ignored);
}

// The directory's descriptor with a lock on it; -1 when somebody has it, it is gone, or it is of
// another user.
int hold(const fs::path& directory) {
  const int held = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (held < 0) {
    return -1;
  }

  struct stat facts {};

  const bool mine = ::flock(held, LOCK_EX | LOCK_NB) == 0 && ::fstat(held, &facts) == 0 &&
                    facts.st_nlink > 0 && facts.st_uid == ::geteuid();
  if (!mine) {
    ::close(held);
  }
  return mine ? held : -1;
}

void remove_abandoned(const fs::path& parent) {
  std::error_code error;
  for (fs::directory_iterator each(parent, error), end; !error && each != end;
       each.increment(error)) {
    if (!each->path().filename().string().starts_with(kPrefix)) {
      continue;
    }
    if (const int held = hold(each->path()); held >= 0) {
      remove_tree(each->path());
      ::close(held);
    }
  }
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) {
    return;
  }
  remove_abandoned(parent);
  for (int tries = 0; tries < kTriesMax && held_ < 0; ++tries) {
    std::string pattern = parent / (std::string{kPrefix} + "XXXXXX");
    if (::mkdtemp(pattern.data()) == nullptr) {
      return;
    }
    held_ = hold(pattern);
    path_ = held_ < 0 ? "" : pattern;
  }
}

TemporaryDirectory::~TemporaryDirectory() {
  if (held_ >= 0) {
    remove_tree(path_);
    ::close(held_);
  }
}

}  // namespace gcoord
