#include "client/discovery/name_server.h"

#include "client/net/host_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <resolv.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

namespace gcoord::client {
namespace {

constexpr std::uint16_t kDnsPort = 53;

std::string text_of(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, host.data(), host.size());
    return "[" + std::string{host.data()} + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
  ::inet_ntop(AF_INET, &v4.sin_addr, host.data(), host.size());
  return std::string{host.data()} + ":" + std::to_string(ntohs(v4.sin_port));
}

template <typename Address>
NameServer name_server(const Address& address) {
  NameServer server;
  std::memcpy(&server.address, &address, sizeof address);
  server.bytes = sizeof address;
  server.text = text_of(server.address);
  return server;
}

}  // namespace

std::optional<NameServer> parse_name_server(std::string_view text) {
  const auto parse = [](const std::string& host, std::uint16_t port) {
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    return ::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1 ? std::optional{name_server(v4)}
           : ::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1
               ? std::optional{name_server(v6)}
               : std::nullopt;
  };
  if (auto alone = parse(std::string{text}, kDnsPort)) {
    return alone;
  }
  const HostPort parts = split_host_port(std::string{text});
  const std::uint16_t port = port_number(parts.port);
  return port == 0 ? std::nullopt : parse(parts.host, port);
}

std::vector<NameServer> system_name_servers() {
  std::vector<NameServer> servers;

  struct __res_state state {};

  if (::res_ninit(&state) != 0) {
    return servers;
  }
  for (int i = 0; i < std::min(state.nscount, MAXNS); ++i) {
    const sockaddr_in6* v6 = state._u._ext.nsaddrs[i];
    if (state.nsaddr_list[i].sin_family == AF_INET) {
      servers.push_back(name_server(state.nsaddr_list[i]));
    } else if (v6 != nullptr && v6->sin6_family == AF_INET6) {
      servers.push_back(name_server(*v6));
    }
  }
  ::res_nclose(&state);
  return servers;
}

std::chrono::milliseconds monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec});
}

}  // namespace gcoord::client
