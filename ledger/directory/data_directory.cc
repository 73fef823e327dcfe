#include "ledger/directory/data_directory.h"

#include "ledger/base/error_details.h"
#include "ledger/disk/posix_disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace gcoord::ledger {
namespace {

Status unusable(const std::string& path, int error) {
  return Status{StatusCode::Unavailable,
                "cannot use the data directory " + path + ": " + std::strerror(error) +
                    "; check that the folder it is in exists, and that it is a directory of yours",
                kDirectoryUnusable};
}

// Of the directory itself: somebody who may put another one in its place meanwhile changes nothing.
Status check_permissions(const std::string& path) {
  struct stat attributes {};

  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const bool looked = fd >= 0 && ::fstat(fd, &attributes) == 0;
  const int error = errno;
  if (fd >= 0) {
    ::close(fd);
  }
  if (!looked) {
    return unusable(path, error);
  }
  if ((attributes.st_mode & (S_IRWXG | S_IRWXO)) == 0) {
    return Status{};
  }
  return Status{StatusCode::FailedPrecondition,
                "the data directory " + path + " is open to other users; run: chmod 700 " + path,
                kDirectoryPermissions};
}

// Who holds the lock, as it wrote itself into the file.
std::string holder_of(int lock_fd) {
  std::array<char, 32> text{};
  const ssize_t count = ::pread(lock_fd, text.data(), text.size() - 1, 0);
  std::string holder{text.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
  if (const auto end = holder.find('\n'); end != std::string::npos) {
    holder.resize(end);
  }
  return holder.empty() ? "unknown" : holder;
}

// The identity is durable before anything else exists, so a log without one has lost it.
Status check_complete(Disk& disk, const std::string& path) {
  GCOORD_TRY(const bool has_identity, disk.exists("identity"));
  GCOORD_TRY(const bool has_log, disk.exists("wal"));
  GCOORD_TRY(const bool has_checkpoints, disk.exists("checkpoint"));
  if (!has_identity && !has_log && has_checkpoints) {
    return Status{StatusCode::FailedPrecondition,
                  "the data directory " + path +
                      " holds checkpoints but neither identity nor log: a restore into it was "
                      "interrupted; remove it and restore again",
                  kRestoreUnfinished};
  }
  if (has_identity || !has_log) {
    return Status{};
  }
  return Status{
      StatusCode::DataLoss,
      "the data directory " + path + " holds a log but its identity file is gone" + kRotAdvice,
      kDirectoryIdentity};
}

}  // namespace

// Whatever else fails is found by whoever opens it.
Status make_data_directory(const std::string& path) {
  struct stat attributes {};

  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    const bool misplaced =
        errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == EPERM || errno == EROFS;
    return misplaced ? unusable(path, errno) : Status{};
  }
  const bool other = ::stat(path.c_str(), &attributes) == 0 && !S_ISDIR(attributes.st_mode);
  return other ? unusable(path, ENOTDIR) : Status{};
}

Result<std::unique_ptr<DirectoryLock>> DirectoryLock::take(const std::string& directory) {
  const std::string path = directory + "/LOCK";
  const int lock_fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (lock_fd < 0) {
    return unusable(directory, errno);
  }
  std::unique_ptr<DirectoryLock> lock{new DirectoryLock(lock_fd)};
  if (::flock(lock_fd, LOCK_EX | LOCK_NB) != 0) {
    return Status{StatusCode::FailedPrecondition,
                  "the data directory " + directory + " is in use by process " +
                      holder_of(lock_fd) +
                      "; stop that process, or give this node another directory",
                  kDirectoryLocked};
  }
  const std::string holder = std::to_string(::getpid()) + "\n";
  const bool named =
      ::ftruncate(lock_fd, 0) == 0 &&
      ::pwrite(lock_fd, holder.data(), holder.size(), 0) == static_cast<ssize_t>(holder.size());
  // A full disk holds the lock as well, and space may be in reserve there.
  if (!named && errno != ENOSPC && errno != EDQUOT) {
    return unusable(directory, errno);
  }
  return lock;
}

DirectoryLock::~DirectoryLock() {
  ::close(lock_fd_);
}

Result<std::unique_ptr<DataDirectory>> DataDirectory::open(const DataDirectoryOptions& options) {
  GCOORD_TRY_STATUS(make_data_directory(options.path));
  GCOORD_TRY(auto root_disk, PosixDisk::open_directory(options.path, options.space));
  GCOORD_TRY_STATUS(check_permissions(options.path));
  std::unique_ptr<DataDirectory> directory{new DataDirectory(options.path)};
  GCOORD_TRY(directory->lock_, DirectoryLock::take(options.path));
  GCOORD_TRY_STATUS(check_complete(*root_disk, options.path));
  if (options.before_start) {
    GCOORD_TRY_STATUS(options.before_start());
  }
  if (options.space != nullptr) {
    GCOORD_TRY(auto disk, PosixDisk::open_directory(options.path));
    GCOORD_TRY_STATUS(options.space->open(std::move(disk)));
  }
  GCOORD_TRY(directory->identity_,
             IdentityFile::open(*root_disk, options.identity, options.random_id));
  directory->root_disk_ = std::move(root_disk);
  directory->created_ = !directory->identity_->in_use();
  GCOORD_TRY(directory->wal_disk_, PosixDisk::open_directory(options.path + "/wal", options.space));
  return directory;
}

}  // namespace gcoord::ledger
