// Pending requests of this node to its log: a map from cookie to request.
//
// The engine ends each cookie exactly once, so an entry is added with a proposal or read and taken
// with its outcome. Cookies carry a generation, so that a wrong one is a bug that is seen at once.
// Memory grows with what is outstanding and is reused. One thread.
#pragma once

#include "protocol/reply_sink.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::server {

enum class PendingKind : std::uint8_t {
  None,
  Request,          // A client's command; `request` says which.
  TimedOut,         // A CancelWait of the leader; (request.shard, session, sequence) name the wait.
  Expiry,           // Ends of sessions that the leader proposed, number `group` of expiry_log.h.
  Close,            // One shard's part of a CloseSession; `group` counts the parts.
  Read,             // A read of group `group`.
  Deadlock,         // A confirmation for question `group` of a deadlock (deadlock_watch.h).
  Broken,           // A BreakWait of the leader.
  Delay,            // An EndDelay of the leader; (request.shard, request.token) name the lock.
  ReplicaRead,      // A read of group `group` of replica_reads.h.
  AgeQuestion,      // Another node's question, number `group` of replica_ages.h.
  Move,             // A MoveIn or MoveDone, number `group` of lock_moves.h.
  SessionLook,      // A look at a session: `request` and `connection` say which.
  PastRead,         // A confirmation, number `group` of past_reads.h.
  GroupLook,        // A look at a group, number `group` of server/groups.
  GroupWithdrawal,  // The end of a wait at a barrier that the leader proposed; likewise.
  RendezvousLook,   // A look at a rendezvous, number `group` of server/rendezvous.
  RendezvousWithdrawal,  // The end of a wait for a round; (request.session, sequence) name it.
  RendezvousCall,        // The end of a last call; (request.shard, request.token) name it.
};

struct Pending {
  PendingKind kind = PendingKind::None;
  protocol::ConnectionId connection;
  std::uint64_t started_us = 0;
  std::uint64_t group = 0;
  protocol::RequestSlot request;
};

class PendingTable {
 public:
  // The cookie, not 0.
  std::uint64_t add(const Pending& pending);

  // Removes and returns the entry. The cookie must be outstanding.
  Pending take(std::uint64_t cookie);

  std::size_t size() const { return size_; }

 private:
  struct Entry {
    std::uint32_t generation = 1;
    Pending pending;
  };

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
};

}  // namespace gcoord::server
