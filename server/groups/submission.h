// The way of a request about groups or rendezvous into the log.
//
// One thread, the node's loop.
#pragma once

#include "protocol/error_codes.h"
#include "protocol/validate.h"
#include "server/groups/group_machine.h"
#include "server/requests/client_request.h"
#include "server/requests/reply_writer.h"
#include "server/requests/service_clock.h"
#include "server/requests/service_log.h"
#include "server/requests/shard_leaders.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gcoord::server {

// The parts of a node that requests about groups and rendezvous use. All of it outlives them.
struct GroupEnvironment {
  ServiceLog& log;
  ReplyWriter& replies;
  const ShardLeaders& leaders;
  const ServiceClock& clock;
  GroupMachine& machine;
  // The last checks before the log (command_submitter.h).
  std::function<void(const ClientRequest&, ShardId, const locks::LockCommand&)> submit;
  // None, or why this node must not propose yet: not every node of the cluster knows the commands.
  std::function<protocol::ErrorCode()> unready;
  protocol::RequestLimits limits;
};

// A request of a session.
struct GroupSubmission {
  std::string_view name;
  std::string body;          // membership/groups/command.h, membership/rendezvous/command.h.
  std::uint32_t ttl_ms = 0;  // 0: it does not register the session.
  bool full = false;         // The node has no room; only what the log knows already passes.
};

// Proposes it, or answers why not.
void submit_group_request(const GroupEnvironment& environment,
                          const ClientRequest& request,
                          const GroupSubmission& submission);

}  // namespace gcoord::server
