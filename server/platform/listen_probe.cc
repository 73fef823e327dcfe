#include "server/platform/listen_probe.h"

#include "protocol/error_codes.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace gcoord::server {
namespace {

// 0, or why the address cannot be had.
int bind_error(const addrinfo& address) {
  const int socket = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return 0;
  }
  const int reuse = 1;  // As listeners do: what waits for its last packets is no listener.
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  const bool bound = ::bind(socket, address.ai_addr, address.ai_addrlen) == 0;
  const int error = bound && ::listen(socket, 1) == 0 ? 0 : errno;
  ::close(socket);
  return error;
}

}  // namespace

Status probe_listen(std::string_view option, const Endpoint& address) {
  if (address.empty() || address.port == 0) {
    return Status{};
  }
  const auto refuse = [&](const char* why) {
    return protocol::make_error(protocol::ErrorCode::ListenFailed,
                                "--" + std::string(option) + " " + to_string(address) + ": " + why);
  };
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int lookup =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (lookup != 0) {
    return refuse(gai_strerror(lookup));
  }
  const int error = bind_error(*found);
  freeaddrinfo(found);
  return error == 0 ? Status{} : refuse(std::strerror(error));
}

}  // namespace gcoord::server
