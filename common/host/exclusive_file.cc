#include "common/host/exclusive_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gcoord {
namespace {

// Two leftovers in a row, one of which another process made meanwhile, are no accident.
constexpr int kAttempts = 2;

Status failure(const std::string& what) {
  return {StatusCode::Unavailable, what};
}

Status cannot_create(const std::string& path, int error) {
  return failure("cannot create " + path + ": " + std::strerror(error));
}

Status in_use(const std::string& path) {
  return failure("another process writes " + path);
}

// Of an open file that was left behind: whether it may be removed.
Status check_leftover(int fd, const std::string& path) {
  struct stat opened {};

  struct stat named {};

  if (::fstat(fd, &opened) != 0) {
    return cannot_create(path, errno);
  }
  if (!S_ISREG(opened.st_mode) || opened.st_nlink > 1 || opened.st_uid != ::geteuid()) {
    return failure(path +
                   " exists and is not a file that an interrupted writer of this user left; "
                   "remove it");
  }
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return in_use(path);
  }
  const bool same = ::lstat(path.c_str(), &named) == 0 && named.st_ino == opened.st_ino &&
                    named.st_dev == opened.st_dev;
  return same ? Status{} : in_use(path);
}

Status remove_leftover(const std::string& path) {
  // O_NONBLOCK: a pipe without a reader would hold up the open.
  const int fd = ::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) {
    return {};
  }
  if (fd < 0 && errno == ELOOP) {
    return failure(path + " is a link, which is not followed; remove it");
  }
  if (fd < 0) {
    return cannot_create(path, errno);
  }
  Status status = check_leftover(fd, path);
  if (status.ok() && ::unlink(path.c_str()) != 0) {
    status = cannot_create(path, errno);
  }
  ::close(fd);
  return status;
}

}  // namespace

Result<int> create_exclusive_file(const std::string& path, mode_t mode) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0) {
      return fd;
    }
    if (fd >= 0) {
      ::close(fd);
      return in_use(path);
    }
    if (errno != EEXIST) {
      return cannot_create(path, errno);
    }
    GCOORD_TRY_STATUS(remove_leftover(path));
  }
  return in_use(path);
}

}  // namespace gcoord
