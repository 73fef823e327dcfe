// The endpoints that a program was given, with those that only DNS knows looked up.
//
//   10.0.0.1:7400                       an address, or a host's name
//   srv:_gcoord._tcp.example.org        the hosts and ports that this name's SRV records have
//   srv:_gcoord._tcp.example.org@127.0.0.1:8600    the same, from this name server
//
// Names of hosts stay names: they are looked up at each attempt to connect. Only a name server that
// was named may say their addresses, too, because the system may not know it. Blocking;
// thread-safe.
#pragma once

#include "gcoord/status.h"

#include <chrono>
#include <string>
#include <vector>

namespace gcoord::client {

enum class IfAbsent : std::uint8_t {
  Fail,
  AskAgain,  // Until one is known or the time is over: the cluster may be about to be announced.
};

// At most 64 of each name. GC1001 for what begins with "srv:" and is no such endpoint, GC3001 when
// nothing is left because names could not be looked up, or name nobody.
Result<std::vector<std::string>> resolve_endpoints(const std::vector<std::string>& endpoints,
                                                   std::chrono::milliseconds timeout,
                                                   IfAbsent absent);

}  // namespace gcoord::client
