#include "server/http/listen_socket.h"

#include "protocol/error_codes.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gcoord::server {
namespace {

// Connections that the system holds until they are accepted.
constexpr int kBacklog = 128;

std::uint16_t port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
  if (bound.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(bound).sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

// -1 with errno where it cannot be had.
int listen_at(const addrinfo& address) {
  const int socket = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) {
    return -1;
  }
  const int reuse = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  if (::bind(socket, address.ai_addr, address.ai_addrlen) == 0 && ::listen(socket, kBacklog) == 0) {
    return socket;
  }
  const int error = errno;
  ::close(socket);
  errno = error;
  return -1;
}

}  // namespace

Result<ListenSocket> open_listen_socket(const std::string& option, const Endpoint& endpoint) {
  const auto refuse = [&](const char* why) {
    return protocol::make_error(protocol::ErrorCode::ListenFailed,
                                "--" + option + " " + to_string(endpoint) + ": " + why);
  };
  const std::string host = endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int lookup =
      getaddrinfo(host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (lookup != 0) {
    return refuse(gai_strerror(lookup));
  }
  const int socket = listen_at(*found);
  const int error = errno;
  freeaddrinfo(found);
  if (socket < 0) {
    return refuse(std::strerror(error));
  }
  return ListenSocket{socket, port_of(socket)};
}

}  // namespace gcoord::server
