// Orders: the requests without a session that change something, and what each is about.
//
// A break names its author in its own entry, and a change of roles, too; their notes add the
// address and the client's name. Pure; any thread.
#pragma once

#include "common/ids.h"
#include "server/requests/client_request.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::server {

struct AuditedOrder {
  ShardId shard;  // In whose log its note stands.
  // Whether only the shard's leader serves it: any other node sends the client there.
  bool by_leader = true;
  std::string object;  // "jobs/a to shard 3".
};

// Nothing: the request is no order, cannot be read, or changes nothing.
std::optional<AuditedOrder> audited_order(const ClientRequest& request, std::uint32_t shard_count);

}  // namespace gcoord::server
