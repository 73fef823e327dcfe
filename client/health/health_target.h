// Parser of the target of a health check. Pure; thread-safe.
#pragma once

#include "gcoord/health.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::client {

struct NetworkTarget {
  std::string host;
  std::uint16_t port = 0;
  std::string authority;  // As it was written: what a request names as its host.
  std::string path;       // Of Http.
};

// Of a Tcp or Http check; nothing when it cannot be one.
std::optional<NetworkTarget> network_target(const HealthCheck& check);

// GC6352 for what cannot be run, with what is wrong.
Status check_health(const SessionHealth& health);

// "tcp:127.0.0.1:80", as parse_health_check() takes it.
std::string health_check_text(const HealthCheck& check);

}  // namespace gcoord::client
