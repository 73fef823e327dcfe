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
constexpr const char* kMarker = "of-gcoordd-dev";
constexpr const char* kContents = "data";

void remove_tree(const fs::path& directory) {
  std::error_code ignored;
  fs::remove_all(directory, ignored);
}

// The descriptor of the marker in this directory, with a lock on it; -1 when there is none,
// somebody has it, or it is of another user. `flags`: more of open().
int hold(const fs::path& directory, int flags) {
  const fs::path marker = directory / kMarker;
  const int held = ::open(marker.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
  if (held < 0) {
    return -1;
  }

  struct stat facts {};

  const bool mine = ::flock(held, LOCK_EX | LOCK_NB) == 0 && ::fstat(held, &facts) == 0 &&
                    S_ISREG(facts.st_mode) && facts.st_nlink == 1 && facts.st_uid == ::geteuid();
  if (!mine) {
    ::close(held);
  }
  return mine ? held : -1;
}

// Whether a node has the data, as with --data-dir at what another process left.
bool in_use(const fs::path& directory) {
  const fs::path lock = directory / kContents / "LOCK";
  const int held = ::open(lock.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  const bool used = held >= 0 && ::flock(held, LOCK_EX | LOCK_NB) != 0;
  if (held >= 0) {
    ::close(held);
  }
  return used;
}

void remove_abandoned(const fs::path& parent) {
  std::error_code error;
  for (fs::directory_iterator each(parent, error), end; !error && each != end;
       each.increment(error)) {
    const fs::path& path = each->path();
    if (!path.filename().string().starts_with(kPrefix) || fs::is_symlink(path, error)) {
      continue;
    }
    if (const int held = hold(path, 0); held >= 0) {
      if (!in_use(path)) {
        remove_tree(path);
      }
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
  std::string pattern = parent / (std::string{kPrefix} + "XXXXXX");
  if (::mkdtemp(pattern.data()) == nullptr) {
    return;
  }
  // Until it has a marker nobody else takes it for abandoned.
  held_ = hold(pattern, O_CREAT | O_EXCL);
  if (held_ >= 0 && fs::create_directory(fs::path{pattern} / kContents, error)) {
    root_ = pattern;
    path_ = fs::path{pattern} / kContents;
  } else {
    remove_tree(pattern);
  }
}

TemporaryDirectory::~TemporaryDirectory() {
  if (held_ >= 0) {
    remove_tree(root_);
    ::close(held_);
  }
}

}  // namespace gcoord
