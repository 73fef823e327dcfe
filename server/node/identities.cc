#include "server/node/identities.h"

#include "server/platform/boot_time.h"

namespace gcoord::server {

NodeIdentities::NodeIdentities(const Environment& environment, const NodeOptions& options)
    : metrics_(environment.metrics),
      passwords_(environment.wake),
      requests_({.replies = environment.replies,
                 .connections = environment.connections,
                 .users = users_,
                 .passwords = passwords_,
                 .metrics = metrics_,
                 .now_ms = environment.now_ms,
                 .wall_us = [] { return wall_ms() * 1000; }},
                options.session_keys) {}

}  // namespace gcoord::server
