// The requests about a lock's holder as an elected leader: proclaim, transfer, ask.
//
// Campaigning and resigning are acquire and release (lock_requests.h). A proclamation and a
// transfer are commands; an ask is answered from memory (election_asks.h). The fields were checked
// by protocol::check_request(). One thread, the node's loop.
#pragma once

#include "locks/cpu/lock_cpu.h"
#include "server/lock_service/command_submitter.h"
#include "server/requests/client_request.h"
#include "server/requests/election_asks.h"
#include "server/requests/lock_locator.h"
#include "server/requests/reply_writer.h"
#include "server/requests/service_clock.h"
#include "server/requests/service_log.h"
#include "server/requests/shard_leaders.h"

namespace gcoord::server {

class HolderRequests {
 public:
  struct Environment {
    CommandSubmitter& submitter;
    ReplyWriter& replies;
    const ServiceLog& log;
    const ShardLeaders& leaders;
    const LockLocator& locator;
    const locks::LockCpu& locks;
    const ServiceClock& clock;
    TransferRequests& asks;
  };

  explicit HolderRequests(const Environment& environment) : env_(environment) {}

  void proclaim(const ClientRequest& request);
  void transfer(const ClientRequest& request);

  // Judged by the applied state, which may be of the past: the ask decides nothing, and names its
  // term.
  void ask(const ClientRequest& request);

 private:
  void submit(const ClientRequest& request, const locks::LockCommand& command);

  Environment env_;
};

}  // namespace gcoord::server
