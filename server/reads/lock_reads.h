// Linearizable reads of the lock tables: check, check batch, get, list, candidates.
//
// A read names the shards it looks at; each is confirmed by the engine (a lease, or a round of its
// quorum), and the look-up runs in the moment of the last confirmation. A batch or list leaves out
// the shards that this node does not lead: the client asks the other nodes for those. A list walks
// the node's held locks by their rows, kListRowsLookedAt of them a call, so a page may be empty and
// yet name a cursor; it says so when it had to leave out locks that no other node will show.
// Bounded by the limits of the protocol (protocol/limits.h) and by kReadBytesMax. One thread.
#pragma once

#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"
#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/interfaces/log_limits.h"
#include "server/lateness/slow_requests.h"
#include "server/requests/service_clock.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

// Rows that one list request looks at: about two milliseconds of the loop when all are held.
inline constexpr std::uint32_t kListRowsLookedAt = 20'000;

// And that all of them together look at in a tick: one frame may hold 16,000 list requests. Beyond
// it they are refused, and come again later.
inline constexpr std::uint32_t kListRowsPerTick = 2 * kListRowsLookedAt;

// Memory of the reads that wait for their confirmation. 60 of the largest batches; beyond it reads
// are refused until some are answered.
inline constexpr std::size_t kReadBytesMax = std::size_t{64} << 20;

struct LockReadsOptions {
  std::uint32_t shard_count = 1;
  const ServiceClock& clock;  // Outlives the reads.
  // Whether a list may show the client the lock of this name.
  std::function<bool(protocol::ConnectionId, std::string_view name)> lists;
};

class LockReads {
 public:
  // Asks the engine for a confirmation; `group` comes back through on_confirmed.
  using Ask = std::function<void(ShardId shard, std::uint64_t group, ReadMode way)>;
  using Leads = std::function<bool(ShardId shard)>;
  using Answer = std::function<void(protocol::ConnectionId connection,
                                    const protocol::ReplySlot& reply,
                                    std::span<const std::byte> payload)>;

  struct Environment {
    Ask ask;
    Leads leads;
    std::function<NodeId(ShardId)> leader_hint;
    std::function<Term(ShardId)> term;
    // How long the wait has been known here.
    std::function<std::uint32_t(ShardId, SessionId, RequestSequence)> waited_ms;
    // Who was asked for in place of the leader of an election (election_asks.h); 0: nobody.
    std::function<SessionId(NameHash, FencingToken)> wanted;
    Answer answer;
    SlowRequests& slow;
  };

  LockReads(const LockReadsOptions& options, const locks::LockCpu& locks, Environment doors);

  // A request of kind LockCheck, LockCheckBatch, LockGet, LockList or ElectCandidates whose fields
  // were checked.
  void start(protocol::ConnectionId connection,
             const protocol::RequestSlot& request,
             std::span<const std::byte> payload);

  // One shard of a group was confirmed, or could not be. Answers when it was the last.
  void on_confirmed(std::uint64_t group, ShardId shard, const Status& status, NodeId leader_hint);

  // A lock as it is told to clients.
  protocol::LockRow describe(const locks::HeldLock& lock, bool waiters) const;

  std::size_t group_count() const { return groups_.size(); }

  std::size_t held_bytes() const { return held_bytes_; }

 private:
  struct Group {
    protocol::ConnectionId connection;
    protocol::RequestSlot request;
    std::vector<std::byte> payload;
    std::uint64_t started_us = 0;  // When the confirmations were asked for.
    std::size_t outstanding = 0;
    std::set<std::uint32_t> shards;  // Asked, less those that could not be confirmed.
    locks::LockRow row_first;        // Of a list: the rows that it looks at,
    locks::LockRow row_end;          // up to here.
    bool partial = false;            // Of a list: locks were left out that no node shows.
    Status failure;                  // Of the only shard of a check or get.
    NodeId leader_hint;

    std::size_t held_bytes() const;
  };

  void start_single(protocol::ConnectionId connection,
                    const protocol::RequestSlot& request,
                    std::span<const std::byte> payload);
  void start_list(Group group);
  void start_group(Group group);
  std::set<std::uint32_t> shards_of_batch(const std::vector<protocol::TokenCheck>& checks) const;
  void choose_list_shards(const protocol::ListQuery& query, Group& group) const;
  std::optional<locks::HeldLock> listed(const Group& group,
                                        const protocol::ListQuery& query,
                                        locks::LockRow row) const;
  void look_at_time(const Group& group);
  void finish(const Group& group);
  bool answer_moved(const Group& group, ShardId shard);
  void finish_check(const Group& group, ShardId shard);
  void finish_get(const Group& group, ShardId shard);
  void finish_candidates(const Group& group, ShardId shard);
  void finish_batch(const Group& group);
  void finish_list(const Group& group);
  void refuse(const Group& group, protocol::ErrorCode error);
  ShardId shard_of_name(std::string_view name) const;

  const LockReadsOptions options_;
  const locks::LockCpu& locks_;
  Environment environment_;
  std::unordered_map<std::uint64_t, Group> groups_;
  std::uint64_t group_last_ = 0;
  std::size_t held_bytes_ = 0;  // Sum over groups_.
  Tick listed_at_;
  std::uint32_t rows_listed_ = 0;  // In the tick listed_at_.
};

// The cursor of LockList: the next row to look at, 0 at the end. Opaque to clients, and of one life
// of one node.
std::string encode_cursor(locks::LockRow next);
// False when no node of this version made it. An empty text is the beginning.
bool decode_cursor(std::string_view text, locks::LockRow& next);

}  // namespace gcoord::server
