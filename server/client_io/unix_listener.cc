#include "server/client_io/unix_listener.h"

#include "common/host/descriptor.h"
#include "common/host/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace gcoord::server {
namespace {

Status unusable(const std::string& path, const std::string& what) {
  return {StatusCode::InvalidArgument,
          path + ": " + what + ": " + std::generic_category().message(errno),
          kUnixSocketUnusable};
}

int open_socket() {
  return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// Removes the file of a socket that nobody serves.
Status clear_path(const std::string& path, const UnixAddress& address) {
  struct stat found {};

  if (::lstat(address.path(), &found) != 0) {
    return errno == ENOENT ? Status{} : unusable(path, "cannot look");
  }
  if (!S_ISSOCK(found.st_mode)) {
    errno = EEXIST;
    return unusable(path, "something else is there");
  }
  const OwnedDescriptor probe{open_socket()};
  if (::connect(probe.get(), address.get(), address.length()) == 0 || errno != ECONNREFUSED) {
    return {StatusCode::FailedPrecondition, path + ": somebody serves it", kUnixSocketTaken};
  }
  return ::unlink(address.path()) == 0 ? Status{} : unusable(path, "cannot remove what is there");
}

}  // namespace

UnixListener::~UnixListener() {
  close();
}

UnixListener::UnixListener(UnixListener&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::exchange(other.path_, {})),
      device_(other.device_),
      inode_(other.inode_) {}

UnixListener& UnixListener::operator=(UnixListener&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

// The kernel makes the file with the rights of the socket's own inode, less the umask; chmod adds
// what the umask took.
Result<UnixListener> UnixListener::open(const std::string& path, std::uint32_t mode) {
  GCOORD_TRY(const UnixAddress address, UnixAddress::of(path));
  GCOORD_TRY_STATUS(clear_path(path, address));
  UnixListener listener;
  listener.fd_ = open_socket();
  if (listener.fd_ < 0 || ::fchmod(listener.fd_, mode) != 0) {
    return unusable(path, "no socket");
  }
  if (::bind(listener.fd_, address.get(), address.length()) != 0) {
    return unusable(path, "cannot bind");
  }
  listener.path_ = path;

  struct stat made {};

  if (::lstat(address.path(), &made) != 0) {
    return unusable(path, "cannot look");
  }
  listener.device_ = made.st_dev;
  listener.inode_ = made.st_ino;
  if (::chmod(address.path(), mode) != 0 || ::listen(listener.fd_, SOMAXCONN) != 0) {
    return unusable(path, "cannot listen");
  }
  return listener;
}

int UnixListener::release_descriptor() {
  return std::exchange(fd_, -1);
}

void UnixListener::close() {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
  if (path_.empty()) {
    return;
  }

  struct stat found {};

  const auto address = UnixAddress::of(path_);
  if (address.ok() && ::lstat(address.value().path(), &found) == 0 && found.st_dev == device_ &&
      found.st_ino == inode_) {
    ::unlink(address.value().path());
  }
  path_.clear();
}

}  // namespace gcoord::server
