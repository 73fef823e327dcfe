// The last checks between a client's request and the log: leadership, moves, caps, quota.
//
// Every command that a client asks for passes here, whichever class decoded the request, so the
// order of refusals is the same for all. A command that passes is proposed, or bound to a wait that
// stands in the queue already (docs/adr/0059). One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "locks/lock_cpu.h"
#include "server/client_request.h"
#include "server/lock_locator.h"
#include "server/lock_outcomes.h"
#include "server/reply_writer.h"
#include "server/service_clock.h"
#include "server/service_log.h"
#include "server/session_admission.h"
#include "server/shard_leaders.h"

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
  Environment env_;
};

}  // namespace gcoord::server
