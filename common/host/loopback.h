// Addresses of this machine's loopback, which no other machine sees. Pure; thread-safe.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace gcoord {

// 127.0.0.0/8, ::1, and the first in the form that IPv6 has for addresses of IPv4.
inline bool is_loopback(const sockaddr& address) {
  constexpr unsigned kLoopbackNetwork = 127;
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return ntohl(v4.sin_addr.s_addr) >> 24 == kLoopbackNetwork;
  }
  if (address.sa_family != AF_INET6) {
    return false;
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ||
         (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && v6.sin6_addr.s6_addr[12] == kLoopbackNetwork);
}

}  // namespace gcoord
