// The requests about one lock: acquire, hold, release, cancel, break, move.
//
// Each decodes its request, makes the command, and submits it for the shard of the lock's name. The
// fields were checked by protocol::check_request(). One thread, the node's loop.
#pragma once

#include "server/lock_service/command_submitter.h"
#include "server/lock_service/lock_moves.h"
#include "server/requests/client_request.h"
#include "server/requests/lock_locator.h"
#include "server/requests/reply_writer.h"
#include "server/requests/service_log.h"
#include "server/requests/shard_leaders.h"
#include "server/requests/space_admission.h"

#include <functional>

namespace gcoord::server {

class LockRequests {
 public:
  struct Environment {
    CommandSubmitter& submitter;
    ReplyWriter& replies;
    const ServiceLog& log;
    const ShardLeaders& leaders;
    const LockLocator& locator;
    const SpaceAdmission& space;
    LockMoves& moves;
    // Whether all nodes know of authors that are proven (locks::kBreakProven).
    std::function<bool()> proves_authors;
  };

  explicit LockRequests(const Environment& environment) : env_(environment) {}

  void acquire(const ClientRequest& request);
  void hold(const ClientRequest& request);
  void release(const ClientRequest& request);
  void cancel(const ClientRequest& request);

  // The log entry says who broke the lock and why; that is how the ledger comes to know. Who is the
  // connection's principal if it has one, whatever the payload says; else the payload's word.
  void break_lock(const ClientRequest& request);

  // Answered when the lock has arrived in the other shard (lock_moves.h).
  void move(const ClientRequest& request);

 private:
  Environment env_;
};

}  // namespace gcoord::server
