#include "ledger/disk/posix_disk.h"

#include "ledger/base/error_details.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace gcoord::ledger {
namespace {

// Of st_blocks, whatever the file system's own are.
constexpr std::uint64_t kStatBlockBytes = 512;

bool is_full(int error) {
  return error == ENOSPC || error == EDQUOT;
}

// One message for the operator: what failed, where, why, and what to do.
Status failure(int error, const std::string& what, const std::string& path, std::uint32_t detail) {
  const std::string text = what + " " + path + ": " + std::strerror(error);
  if (is_full(error)) {
    return Status{StatusCode::ResourceExhausted,
                  text + "; free space there and start the node again",
                  kDiskFull};
  }
  if (error == ENOENT) {
    return Status{StatusCode::NotFound, text, detail};
  }
  return Status{StatusCode::Unavailable,
                text + "; check the disk and the kernel log, then start the node again",
                detail};
}

// Calls again what failed for want of space: once, as a look at the room gives a reserve out, or
// until there is some. The call answers with an error of the system, or 0.
template <typename Call>
int with_room(const SpaceOfFiles& space, Call&& call) {
  int error = call();
  if (space.room == nullptr || !is_full(error)) {
    return error;
  }
  if (space.when_full == WhenFull::Fails) {
    space.room->has(0);
    return call();
  }
  while (is_full(error) && space.room->await_after_refusal()) {
    error = call();
  }
  return error;
}

int error_of(int result) {
  return result < 0 ? errno : 0;
}

class PosixFile final : public DiskFile {
 public:
  PosixFile(std::string path, int fd, const SpaceOfFiles& space)
      : path_(std::move(path)), fd_(fd), space_(space) {}

  ~PosixFile() override { ::close(fd_); }

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t count =
          ::pread(fd_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
      if (count < 0 && errno == EINTR) {
        continue;
      }
      if (count < 0) {
        return failure(errno, "cannot read", path_, kDiskReadFailed);
      }
      if (count == 0) {
        break;
      }
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    std::size_t done = 0;
    const int error = with_room(space_, [&] { return write_rest(offset, bytes, done); });
    return error == 0 ? Status{} : failure(error, "cannot write", path_, kDiskWriteFailed);
  }

  Status sync() override {
    // Not repeated on EINTR either: after any failure the state of the pages is unknown.
    return ::fdatasync(fd_) == 0 ? Status{}
                                 : failure(errno, "cannot persist", path_, kDiskSyncFailed);
  }

  Status drop_cached() override {
    GCOORD_TRY_STATUS(sync());
    const int error = ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    return error == 0 ? Status{} : failure(error, "cannot re-read", path_, kDiskReadFailed);
  }

  Result<std::uint64_t> size_bytes() const override {
    struct stat attributes {};

    if (::fstat(fd_, &attributes) != 0) {
      return failure(errno, "cannot inspect", path_, kDiskReadFailed);
    }
    return static_cast<std::uint64_t>(attributes.st_size);
  }

  Result<std::uint64_t> allocated_bytes() const override {
    struct stat attributes {};

    if (::fstat(fd_, &attributes) != 0) {
      return failure(errno, "cannot inspect", path_, kDiskReadFailed);
    }
    return static_cast<std::uint64_t>(attributes.st_blocks) * kStatBlockBytes;
  }

 private:
  // From byte `done` on, which moves.
  int write_rest(std::uint64_t offset, std::span<const std::byte> bytes, std::size_t& done) const {
    while (done < bytes.size()) {
      const ssize_t count = ::pwrite(
          fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (count < 0 && errno != EINTR) {
        return errno;
      }
      done += count < 0 ? 0 : static_cast<std::size_t>(count);
    }
    return 0;
  }

  std::string path_;
  int fd_;
  SpaceOfFiles space_;
};

// Makes the directory's own name durable.
Status sync_parent(const std::string& path) {
  const auto slash = path.find_last_of('/', path.find_last_not_of('/'));
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return failure(errno, "cannot open", parent, kDiskFailed);
  }
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  return result == 0 ? Status{} : failure(error, "cannot persist", parent, kDiskSyncFailed);
}

}  // namespace

PosixDisk::PosixDisk(std::string path, int directory_fd, const SpaceOfFiles& space)
    : path_(std::move(path)), directory_fd_(directory_fd), space_(space) {}

PosixDisk::~PosixDisk() {
  ::close(directory_fd_);
}

Result<std::unique_ptr<PosixDisk>> PosixDisk::open_directory(const std::string& path,
                                                             DiskRoom* room,
                                                             WhenFull when_full) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return failure(errno, "cannot create directory", path, kDiskFailed);
  }
  // Also when it exists: whoever made it may have died before this.
  GCOORD_TRY_STATUS(sync_parent(path));
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return failure(errno, "cannot open directory", path, kDiskFailed);
  }
  return std::unique_ptr<PosixDisk>{new PosixDisk(path, fd, {room, when_full})};
}

Result<std::unique_ptr<DiskFile>> PosixDisk::open(const std::string& name) {
  const std::string path = path_ + "/" + name;
  const int fd = ::openat(directory_fd_, name.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    return failure(errno, "cannot open", path, kDiskFailed);
  }
  return std::unique_ptr<DiskFile>{std::make_unique<PosixFile>(path, fd, space_)};
}

Result<std::unique_ptr<DiskFile>> PosixDisk::create(const std::string& name,
                                                    std::uint64_t size_bytes) {
  const std::string path = path_ + "/" + name;
  int fd = -1;
  const int uncreated = with_room(space_, [&] {
    fd = ::openat(directory_fd_, name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return error_of(fd);
  });
  if (uncreated != 0) {
    return failure(uncreated, "cannot create", path, kDiskFailed);
  }
  auto file = std::make_unique<PosixFile>(path, fd, space_);
  if (size_bytes > 0) {
    const int error =
        with_room(space_, [&] { return ::posix_fallocate(fd, 0, static_cast<off_t>(size_bytes)); });
    if (error != 0) {
      return failure(error, "cannot reserve space for", path, kDiskFailed);
    }
  }
  return std::unique_ptr<DiskFile>{std::move(file)};
}

Status PosixDisk::rename(const std::string& from, const std::string& to) {
  const int error = with_room(space_, [&] {
    return error_of(::renameat(directory_fd_, from.c_str(), directory_fd_, to.c_str()));
  });
  return error == 0
             ? Status{}
             : failure(error, "cannot rename " + from + " to", path_ + "/" + to, kDiskFailed);
}

Status PosixDisk::remove(const std::string& name) {
  if (::unlinkat(directory_fd_, name.c_str(), 0) == 0 || errno == ENOENT) {
    return Status{};
  }
  return failure(errno, "cannot remove", path_ + "/" + name, kDiskFailed);
}

Result<bool> PosixDisk::exists(const std::string& name) {
  struct stat attributes {};

  if (::fstatat(directory_fd_, name.c_str(), &attributes, 0) == 0) {
    return true;
  }
  if (errno == ENOENT) {
    return false;
  }
  return failure(errno, "cannot inspect", path_ + "/" + name, kDiskFailed);
}

Result<std::vector<std::string>> PosixDisk::list() {
  DIR* stream = ::opendir(path_.c_str());
  if (stream == nullptr) {
    return failure(errno, "cannot list", path_, kDiskFailed);
  }
  std::vector<std::string> names;
  errno = 0;
  for (const dirent* row = ::readdir(stream); row != nullptr; row = ::readdir(stream)) {
    const std::string name = row->d_name;
    if (name != "." && name != "..") {
      names.push_back(name);
    }
  }
  const int error = errno;
  ::closedir(stream);
  if (error != 0) {
    return failure(error, "cannot list", path_, kDiskFailed);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status PosixDisk::sync_directory() {
  return ::fsync(directory_fd_) == 0 ? Status{}
                                     : failure(errno, "cannot persist", path_, kDiskSyncFailed);
}

Result<DiskSpace> PosixDisk::space() {
  struct statvfs found {};

  if (::fstatvfs(directory_fd_, &found) != 0) {
    return failure(errno, "cannot ask for the free space of", path_, kDiskFailed);
  }
  const std::uint64_t block_bytes = found.f_frsize;
  DiskSpace space{.free_bytes = found.f_bavail * block_bytes,
                  .total_bytes = found.f_blocks * block_bytes};
  if (found.f_files != 0) {  // Else it makes them as long as there is space.
    space.free_files = found.f_favail;
  }
  return space;
}

}  // namespace gcoord::ledger
