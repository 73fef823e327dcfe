// "HOST:PORT" as operators write it: 127.0.0.1:7400, [::1]:7400, node-2.example:7500.
//
// Parsing looks nothing up; a name is resolved by whoever connects or listens. Port 0 is accepted
// only where the caller allows it (the system then chooses). Pure functions; thread-safe.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::server {

struct Endpoint {
  std::string host;  // Without brackets.
  std::uint16_t port = 0;

  bool empty() const { return host.empty(); }

  friend bool operator==(const Endpoint& a, const Endpoint& b) {
    return a.host == b.host && a.port == b.port;
  }
};

enum class PortZero : std::uint8_t { Refused, Allowed };

// InvalidArgument with a message that names the text and says what is expected.
Result<Endpoint> parse_endpoint(std::string_view text, PortZero port_zero = PortZero::Refused);

// "host:port", with brackets around an IPv6 address.
std::string to_string(const Endpoint& endpoint);

// Whether the host is the machine itself by its spelling: localhost, 127.0.0.0/8 or ::1. Names are
// not looked up, so any other name counts as beyond loopback.
bool is_loopback(const Endpoint& endpoint);

// Whether the host stands for all addresses of the machine: 0.0.0.0 or ::. It can be listened on,
// and nobody can call it.
bool is_everywhere(const Endpoint& endpoint);

}  // namespace gcoord::server
