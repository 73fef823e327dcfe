// One request on its way from a caller to an answer, through any number of nodes and tries.
#pragma once

#include "client/records/session_lease.h"
#include "client/records/session_record.h"
#include "common/ids.h"
#include "common/name_hash.h"
#include "gcoord/status.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::client {

// The outcome of an operation. Views live during the callback only.
struct Answer {
  Status status;
  protocol::ReplySlot slot;  // All zero when no node answered.
  std::span<const std::byte> payload;
};

// Which node may serve an operation.
enum class Target : std::uint8_t {
  ShardLeader,  // The leader of slot.shard.
  AnyNode,
  OneNode,  // `node`, and no other.
};

enum class OperationPhase : std::uint8_t {
  Sent,     // An answer is awaited.
  Backoff,  // To be sent again at retry_at.
  Parked,   // No node to send to; woken when one is connected.
  Behind,   // The session's window in the shard is full.
  InLine,   // A wait, to be sent again when its shard's line comes to it.
};

// Where an operation was sent the last time.
struct Sending {
  NodeId to;
  TimePoint at{};
  TimePoint look_at{};  // When to look whether the node is silent.
};

// The outcomes of an operation so far.
struct Tries {
  std::uint32_t attempt = 0;
  std::uint32_t redirects = 0;      // In a row, without a back-off between.
  std::uint32_t moves = 0;          // How often it was told that its lock has moved.
  std::uint32_t moves_at_once = 0;  // Of these, in a row, without a back-off between.
  std::uint32_t sent_count = 0;     // More than 0: a node may have executed it.
  std::uint32_t copies = 0;         // Sent over connections that were lost, so they may come late.
  bool renumbered = false;          // An earlier number's outcome is not known.
  bool outcome_unknown = false;     // A node took it and then could not say what came of it.
  Status last_failure;
};

// How the stop of a wait finds it; on the client's thread only (withdrawals.h).
struct StopLink {
  std::optional<std::uint64_t> request_id;
};

struct Operation {
  Operation() = default;
  ~Operation();  // Wipes the payload of one that is secret.
  Operation(const Operation&) = default;
  Operation& operator=(const Operation&) = default;

  protocol::RequestSlot slot;
  std::string payload;
  std::function<void(const Answer&)> callback;
  NameHash name_hash;  // Of what names one lock, whose shard slot.shard is; else 0.
  Target target = Target::ShardLeader;
  NodeId node;                  // Of OneNode.
  bool try_once = false;        // Is not sent again, whatever happens.
  bool waits_for_node = false;  // OneNode: parked, not failed, while a lost node is sought again.

  // Of a request that changes something: whose, and so in whose exactly-once window.
  std::shared_ptr<SessionRecord> session;

  TimePoint deadline = kTimeNever;
  TimePoint wait_until = kTimeNever;  // Of an acquire that waits: when the shard gives up.

  OperationPhase phase = OperationPhase::Parked;
  Sending sent;
  TimePoint retry_at{};  // Of Parked: when a probe is due; kTimeNever when none will be.
  Tries tries;
  bool counted = false;     // Twice is not the same as once: never renumbered.
  bool secret = false;      // A password or a token of a join is in its payload.
  bool takes_back = false;  // Asks only for a place in a queue that is to be given up.

  std::shared_ptr<StopLink> stop;  // Of an acquire that its caller may stop.

  bool waits() const { return slot.has(protocol::RequestFlag::Wait); }

  bool by_token() const { return slot.has(protocol::RequestFlag::ByToken); }

  // Whether it takes a number of its own from its session's window in the shard.
  bool numbered() const {
    return acquires() || (slot.kind == protocol::RequestKind::LockRelease && !by_token()) ||
           (changes_office() && !by_token()) || of_group();
  }

  // Whether it changes a group or a rendezvous, or waits there.
  bool of_group() const {
    return slot.kind == protocol::RequestKind::GroupJoin ||
           slot.kind == protocol::RequestKind::GroupLeave ||
           slot.kind == protocol::RequestKind::GroupUpdate ||
           slot.kind == protocol::RequestKind::GroupBarrier ||
           slot.kind == protocol::RequestKind::RendezvousJoin ||
           slot.kind == protocol::RequestKind::RendezvousLeave;
  }

  bool changes_office() const {
    return slot.kind == protocol::RequestKind::ElectProclaim ||
           slot.kind == protocol::RequestKind::ElectTransfer;
  }

  bool acquires() const {
    return slot.kind == protocol::RequestKind::LockAcquire ||
           slot.kind == protocol::RequestKind::LockAcquireHold;
  }

  // Whether it may register its session in the shard.
  bool registers() const {
    return acquires() || slot.kind == protocol::RequestKind::SessionGrant ||
           slot.kind == protocol::RequestKind::GroupJoin ||
           slot.kind == protocol::RequestKind::GroupBarrier ||
           slot.kind == protocol::RequestKind::RendezvousJoin;
  }

  // Whether it ends what others may be waiting for.
  bool gives_back() const {
    return takes_back || slot.kind == protocol::RequestKind::LockRelease ||
           slot.kind == protocol::RequestKind::LockCancel ||
           slot.kind == protocol::RequestKind::CloseSession;
  }

  // Whether a wait of its session may stand in the queue of a shard under a number of nobody's.
  bool may_leave_place() const { return acquires() && waits() && (tries.moves > 0 || takes_back); }

  // Whether it goes again in the line of its shard (wait_lines.h): a wait that has its number.
  bool lines_up() const { return waits() && target == Target::ShardLeader && slot.sequence != 0; }

  // When to look at it next: its deadline, or the moment at which it goes on before.
  TimePoint due() const;

  // Of an acquire: the name in its payload.
  std::string_view name() const;
};

using OperationPtr = std::unique_ptr<Operation>;

// Ends the session in one shard, or in all that a node leads (protocol::kAllShards; set the
// target).
OperationPtr close_operation(SessionId session, std::uint32_t shard, TimePoint deadline);

// The operations under way, by request id. An id names one place and one use of it, so an answer
// that comes too late finds nobody.
class OperationTable {
 public:
  std::uint64_t add(OperationPtr operation);

  // nullptr when it is gone.
  Operation* find(std::uint64_t request_id);
  OperationPtr take(std::uint64_t request_id);

  std::size_t size() const { return places_.size() - free_.size(); }

  // Calls visit(request_id, operation) for each; visit may add and take operations.
  template <typename Visit>
  void for_each(Visit visit) {
    for (std::size_t index = 0; index < places_.size(); ++index) {
      if (places_[index].operation != nullptr) {
        visit(id_of(index), *places_[index].operation);
      }
    }
  }

 private:
  struct Place {
    OperationPtr operation;
    std::uint32_t use = 0;
  };

  std::uint64_t id_of(std::size_t index) const {
    return std::uint64_t{places_[index].use} << 32 | index;
  }

  std::vector<Place> places_;
  std::vector<std::uint32_t> free_;
};

}  // namespace gcoord::client
