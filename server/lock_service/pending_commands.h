// The ends of commands that this node proposed: from a cookie to the owner of the pending entry.
//
// One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "locks/commands/reply.h"
#include "server/interfaces/state_machine.h"
#include "server/lock_service/delay_ends.h"
#include "server/lock_service/lock_moves.h"
#include "server/lock_service/outcomes.h"
#include "server/lock_service/session_requests.h"
#include "server/rendezvous/requests.h"
#include "server/requests/service_clock.h"
#include "server/sessions/expiry.h"
#include "server/waits/pending_table.h"

#include <cstdint>

namespace gcoord::server {

class PendingCommands {
 public:
  struct Environment {
    PendingTable& pending;
    Outcomes& outcomes;
    SessionRequests& sessions;
    LockMoves& moves;
    SessionExpiry& expiry;
    DelayEnds& delays;
    GroupParts parts;
    const ServiceClock& clock;
  };

  explicit PendingCommands(const Environment& environment) : env_(environment) {}

  // The entry's own command was applied; its cookie is not 0.
  void on_decided(const AppliedEntry& entry, const locks::LockReply& decision);

  // It did not get into the log, or may not have (Service::on_proposal_failed).
  void on_refused(std::uint64_t cookie, const Status& status, NodeId leader_hint);

 private:
  void on_request_decided(const Pending& pending,
                          const AppliedEntry& entry,
                          const locks::LockReply& decision);

  // When the node repeats a proposal of its own that was refused for this: in a tick, and after a
  // pause where its device found it unsound. The log says the latter once.
  Tick repeat_at(const Status& status) const;

  static constexpr std::uint64_t kUnsoundRestMs = 5'000;

  Environment env_;
};

}  // namespace gcoord::server
