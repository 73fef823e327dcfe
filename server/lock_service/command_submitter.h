// The last checks between a client's request and the log: leadership, moves, what comes too late,
// the leader's term (docs/adr/0088), space, caps, quota.
//
// Every command that a client asks for passes here, whichever class decoded the request, so the
// order of refusals is the same for all. A command that passes is proposed, or bound to a wait that
// stands in the queue already (docs/adr/0059). One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"
#include "server/lock_service/outcomes.h"
#include "server/requests/client_request.h"
#include "server/requests/lock_locator.h"
#include "server/requests/reply_writer.h"
#include "server/requests/service_clock.h"
#include "server/requests/service_log.h"
#include "server/requests/session_admission.h"
#include "server/requests/shard_leaders.h"

namespace gcoord::server {

class CommandSubmitter {
 public:
  struct Environment {
    ServiceLog& log;
    ReplyWriter& replies;
    const ShardLeaders& leaders;
    const LockLocator& locator;
    const locks::LockCpu& locks;
    const ServiceClock& clock;
    SessionAdmission& admission;
    Outcomes& outcomes;
  };

  explicit CommandSubmitter(const Environment& environment) : env_(environment) {}

  // Proposes the command for the shard of its name, or refuses it at once.
  void submit(const ClientRequest& request, ShardId shard, const locks::LockCommand& command);

 private:
  bool comes_too_late(ShardId shard, const locks::LockCommand& command) const;
  bool is_ahead(ShardId shard) const;
  bool names_other_term(const protocol::RequestSlot& request, ShardId shard) const;

  Environment env_;
};

}  // namespace gcoord::server
