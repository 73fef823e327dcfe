// Stream sockets of this machine by a path: their addresses, and who is at the other end.
//
// A path may be longer than the 107 bytes of an address: then it is named by way of a descriptor of
// its folder (/proc/self/fd), as long as the address lives. The kernel says which user a socket's
// other end had when it connected or began to listen (SO_PEERCRED); nobody can claim another one.
// Any thread.
#pragma once

#include "common/host/descriptor.h"
#include "common/status.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace gcoord {

// Numbers of protocol/error_codes.h; never renumber.
inline constexpr std::uint32_t kUnixSocketUnusable = 3140;
inline constexpr std::uint32_t kUnixSocketTaken = 3141;
inline constexpr std::uint32_t kUnixSocketDenied = 3142;
inline constexpr std::uint32_t kUnixSocketAbsent = 3143;
inline constexpr std::uint32_t kUnixNodeForeign = 3144;

class UnixAddress {
 public:
  // Of an absolute path whose folder is there; the socket need not be. Failures:
  // kUnixSocketUnusable.
  static Result<UnixAddress> of(const std::string& path);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }

  socklen_t length() const { return sizeof(address_); }

  // The path by which this process reaches the socket's file.
  const char* path() const { return address_.sun_path; }

  std::uint32_t folder_owner() const { return folder_owner_; }

 private:
  UnixAddress() = default;

  sockaddr_un address_{};
  std::uint32_t folder_owner_ = 0;
  std::unique_ptr<OwnedDescriptor> folder_;
};

struct UnixPeer {
  std::uint32_t uid = 0;
  std::int32_t pid = 0;
};

// Who is at the other end of a connected socket.
std::optional<UnixPeer> unix_peer(int fd);

// Whether a client of this process's user may trust whoever serves a socket: root, the same user,
// or the user who owns the folder, who could put any socket there.
Status judge_unix_server(int fd, const UnixAddress& address);

// What a failed connect() to a Unix socket means.
Status unix_connect_failure(int error);

}  // namespace gcoord
