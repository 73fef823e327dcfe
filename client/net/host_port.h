// Addresses as people write them. Pure; thread-safe.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gcoord::client {

struct HostPort {
  std::string host;
  std::string port;
};

// "host:port" or "[v6]:port"; an empty port when it is neither.
inline HostPort split_host_port(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return {address, ""};
  }
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return {std::move(host), address.substr(colon + 1)};
}

// "unix:/path": the path; nothing: it is no endpoint of a Unix socket.
inline std::optional<std::string> unix_path(const std::string& address) {
  constexpr std::string_view kScheme = "unix:";
  return address.starts_with(kScheme) ? std::optional{address.substr(kScheme.size())}
                                      : std::nullopt;
}

// "shm:/path": the path by which a node of this host gives shared memory; nothing: it is none.
inline std::optional<std::string> shm_path(const std::string& address) {
  constexpr std::string_view kScheme = "shm:";
  return address.starts_with(kScheme) ? std::optional{address.substr(kScheme.size())}
                                      : std::nullopt;
}

// Whether it is reached by a path on this host, where the node knows who calls.
inline bool is_local(const std::string& address) {
  return unix_path(address).has_value() || shm_path(address).has_value();
}

// 0 when it is no port.
inline std::uint16_t port_number(const std::string& text) {
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  return error == std::errc{} && stop == end ? port : std::uint16_t{0};
}

}  // namespace gcoord::client
