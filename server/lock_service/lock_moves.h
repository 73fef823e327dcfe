// Moving locks between shards (locks/state/move.h): what a node does beside the commands.
//
//   client -> MoveOut at the lock's shard -> message to the leader of the other shard -> MoveIn
//   there
//          <- answer                      <- MoveDone at the lock's shard <- message back
//
// The leader of the shard that a lock has left sends it again and again until the other side has
// it, whoever that leader is by then and whether or not anybody waits for the end: what there is to
// send is in the shard's state. Messages may be lost, come twice or late; the number of the move
// tells. A name is moved from its home, the shard of its hash, or back to it, so one hint leads to
// the lock. Places in its queue that nobody asks after are ended (unclaimed_places.h).
// Everything is proposed and sent from on_tick(), never while the engine applies.
//
// Bounds: kMovesAtOnceMax questions of clients, and as many messages between two ticks; what is
// above them is refused, or comes again. One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"
#include "protocol/error_codes.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/waits/orphaned_waits.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

inline constexpr std::size_t kMovesAtOnceMax = 1024;

// How often a lock is sent until it has arrived: a round trip between nodes, rounded up.
inline constexpr std::uint32_t kMoveResendMs = 100;

// Names without a holder whose records one shard keeps, and of which there is room for one more
// move: at some 160 bytes each 10 MB a shard.
inline constexpr std::uint32_t kKeptNamesMax = 65536;

// How long a client's question stays; then it is told to ask again.
inline constexpr std::uint32_t kMoveAnswerMs = 5000;

// First byte of the messages of this header. Never renumber.
inline constexpr std::byte kMoveInKind{112};
inline constexpr std::byte kMovedInKind{113};

struct LockMovesOptions {
  NodeId node;
  std::uint32_t shard_count = 1;
  std::uint32_t tick_ms = 10;
  std::uint32_t locks_max = 0;  // Of LockLimits.
};

class LockMoves {
 public:
  struct Environment {
    std::function<bool(ShardId)> leads;
    std::function<NodeId(ShardId)> leader;
    std::function<void(NodeId, std::span<const std::byte>)> send;
    // `connection` is that of the client that asked; 0: nobody did. The outcome comes back through
    // on_decided() or on_refused().
    std::function<void(
        ShardId, const locks::LockCommand&, std::uint64_t step, protocol::ConnectionId)>
        propose;
    std::function<void(protocol::ConnectionId, const protocol::ReplySlot&)> answer;
    // Whether the turn takes the commands of moves.
    std::function<bool()> takes_moves;
    // Whether all nodes of the cluster are known to apply moves in this turn's log,
    std::function<bool()> may_begin;
    // and MoveIns whose places lapse (protocol::Feature::MovePlaces).
    std::function<bool()> places_lapse;
  };

  LockMoves(const LockMovesOptions& options,
            const locks::LockCpu& locks,
            MetricsRegistry& metrics,
            Environment doors);

  // A client wants the lock of `name`, which is in `shard` as far as it knows, in shard `to`. This
  // node leads `shard`. Answered now or when the lock has arrived.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  ShardId shard,
                  ShardId to,
                  std::string_view name);

  // What became of a proposal.
  void on_decided(std::uint64_t step, const locks::LockReply& reply);
  void on_refused(std::uint64_t step, const Status& status, NodeId leader_hint);

  static bool is_ours(std::span<const std::byte> message);
  void on_peer_message(NodeId from, std::span<const std::byte> message);

  void on_role(ShardId shard, bool leading);
  // A MoveOut was applied in a shard that is led here, whoever proposed it and in whatever term: a
  // new leader is told of its role before it has applied all that came before.
  void on_departed(ShardId shard);

  // The same of a MoveIn that this node has not proposed in this term.
  void on_arrived(ShardId shard) { places_.on_led(shard, now_); }

  void on_tick(Tick now);
  // kTickNever while nothing is under way.
  Tick next_deadline() const;

 private:
  enum class StepKind : std::uint8_t { Out, In, Done, Lapse };

  // A client that waits for its lock to arrive.
  struct Asked {
    protocol::ConnectionId connection;
    protocol::RequestSlot request;
    ShardId shard;
    ShardId to;
    NameHash name;
    Tick deadline;
  };

  struct Step {
    StepKind kind{};
    Asked asked;     // Of Out.
    NodeId from;     // Of In: whom to tell.
    ShardId shard;   // Where it was proposed.
    ShardId source;  // Of In: where the lock comes from.
    NameHash name;
    std::uint32_t number = 0;
  };

  struct Received {
    NodeId from;
    std::vector<std::byte> message;
  };

  void answer(const Asked& asked, const protocol::ReplySlot& reply);
  void settle(const Asked& asked);
  void settle_out(const Asked& asked, const locks::LockReply& reply);
  protocol::ErrorCode may_leave(ShardId shard, ShardId to, NameHash name) const;
  bool keeps_many(ShardId shard) const;
  bool would_be_refused(ShardId shard, NameHash name) const;
  void send_departed(Tick now);
  void send_or_keep(NodeId to, std::vector<std::byte> message);
  void take_received();
  void on_move_in(NodeId from, std::span<const std::byte> body);
  void on_moved_in(std::span<const std::byte> body);
  void tell_arrived(NodeId from, ShardId source, NameHash name, std::uint32_t number);
  void propose(const Step& step,
               const locks::LockCommand& command,
               protocol::ConnectionId connection);
  bool under_way(const Step& step) const;
  bool departing(ShardId shard, NameHash name, std::uint32_t number) const;

  LockMovesOptions options_;
  const locks::LockCpu& locks_;
  Counter* moved_ = nullptr;
  Counter* dropped_ = nullptr;
  Environment environment_;
  OrphanedWaits places_;
  Tick now_{1};
  Tick send_at_ = kTickNever;  // What departs is sent then.
  Tick wake_at_ = kTickNever;  // Messages are taken then, and clients answered.
  std::uint64_t step_last_ = 0;
  std::unordered_map<std::uint64_t, Step> steps_;
  std::vector<Asked> waiting_;
  std::set<std::uint32_t> departing_;  // Shards led here that something may have to be sent from.
  std::vector<Received> received_;
};

}  // namespace gcoord::server
