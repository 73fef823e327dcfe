// Addresses of name servers: those of the machine, or one that a user has named.
//
// Thread-safe.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::client {

struct NameServer {
  sockaddr_storage address{};
  socklen_t bytes = 0;
  std::string text;  // "127.0.0.1:53".
};

// "127.0.0.1", "127.0.0.1:8600", "::1", "[::1]:8600": an address, since names would need a server.
std::optional<NameServer> parse_name_server(std::string_view text);

// Those of /etc/resolv.conf.
std::vector<NameServer> system_name_servers();

// Time of this process, to which look-ups keep: a test's clock would not move while one waits.
std::chrono::milliseconds monotonic_now();

}  // namespace gcoord::client
