// Asks a name server where a service is, over UDP.
//
// Servers are asked one after the other, twice each, and all of it ends with the time limit.
// Blocking; thread-safe.
#pragma once

#include "client/discovery/srv_message.h"
#include "gcoord/status.h"

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

// Time of this process, to which look-ups keep: a test's clock would not move while one waits.
std::chrono::milliseconds monotonic_now();

// Those of /etc/resolv.conf.
std::vector<NameServer> system_name_servers();

// The records of a name that exists, none of one that does not. GC3001 when no server has answered
// in time, with what became of each.
Result<std::vector<SrvRecord>> look_up_srv(const std::string& name,
                                           const std::vector<NameServer>& servers,
                                           std::chrono::milliseconds timeout);

}  // namespace gcoord::client
