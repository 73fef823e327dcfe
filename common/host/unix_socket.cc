#include "common/host/unix_socket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace gcoord {
namespace {

Status unusable(const std::string& path, const std::string& why) {
  return {StatusCode::InvalidArgument, path + ": " + why, kUnixSocketUnusable};
}

}  // namespace

Result<UnixAddress> UnixAddress::of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? "" : path.substr(slash + 1);
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos) {
    return unusable(path, "it is not absolute");
  }
  if (name.empty() || name == "." || name == "..") {
    return unusable(path, "it names a folder");
  }
  const std::string folder = slash == 0 ? "/" : path.substr(0, slash);
  UnixAddress address;
  address.folder_ =
      std::make_unique<OwnedDescriptor>(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));

  struct stat found {};

  if (address.folder_->get() < 0 || ::fstat(address.folder_->get(), &found) != 0) {
    return unusable(path, "its folder: " + std::generic_category().message(errno));
  }
  address.folder_owner_ = found.st_uid;
  address.address_.sun_family = AF_UNIX;
  const std::string here =
      path.size() < sizeof(address.address_.sun_path)
          ? path
          : "/proc/self/fd/" + std::to_string(address.folder_->get()) + "/" + name;
  if (here.size() >= sizeof(address.address_.sun_path)) {
    return unusable(path, "its last part is longer than 80 bytes");
  }
  std::ranges::copy(here, address.address_.sun_path);
  return address;
}

std::optional<UnixPeer> unix_peer(int fd) {
  ucred found{};
  socklen_t length = sizeof(found);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &found, &length) != 0 || length != sizeof(found)) {
    return std::nullopt;
  }
  return UnixPeer{.uid = found.uid, .pid = found.pid};
}

Status judge_unix_server(int fd, const UnixAddress& address) {
  const std::optional<UnixPeer> server = unix_peer(fd);
  if (server.has_value() &&
      (server->uid == 0 || server->uid == ::geteuid() || server->uid == address.folder_owner())) {
    return {};
  }
  const std::string who = server.has_value() ? "user " + std::to_string(server->uid) : "nobody";
  return {StatusCode::PermissionDenied,
          std::string{address.path()} + " is served by " + who,
          kUnixNodeForeign};
}

Status unix_connect_failure(int error) {
  const std::string text = std::generic_category().message(error);
  if (error == EACCES || error == EPERM) {
    return {StatusCode::PermissionDenied, text, kUnixSocketDenied};
  }
  const bool absent = error == ENOENT || error == ECONNREFUSED;
  return {StatusCode::Unavailable, text, absent ? kUnixSocketAbsent : 0};
}

}  // namespace gcoord
