// Linearizable reads of the lock tables: check, check batch, get, list.
//
// A read names the shards it looks at; each is confirmed by the engine (a lease, or a round of its
// quorum), and the look-up runs in the moment of the last confirmation. A batch or list leaves out
// the shards that this node does not lead: the client asks the other nodes for those. Bounded by
// the limits of the protocol (rpc/limits.h). One thread.
#pragma once

#include "common/ids.h"
#include "locks/lock_cpu.h"
#include "rpc/error_codes.h"
#include "rpc/lock_messages.h"
#include "rpc/request.h"
#include "server/reply_sink.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

struct LockReadsOptions {
  std::uint32_t shard_count = 1;
  std::uint32_t tick_ms = 10;
};

class LockReads {
 public:
  // Asks the engine for a confirmation; `group` comes back through on_confirmed.
  using Ask = std::function<void(ShardId shard, std::uint64_t group)>;
  using Leads = std::function<bool(ShardId shard)>;
  using Answer = std::function<void(
      ConnectionId connection, const rpc::ReplySlot& reply, std::span<const std::byte> payload)>;

  struct Doors {
    Ask ask;
    Leads leads;
    std::function<NodeId(ShardId)> leader_hint;
    std::function<Term(ShardId)> term;
    // How long the wait has been known here.
    std::function<std::uint32_t(ShardId, SessionId, RequestSequence)> waited_ms;
    Answer answer;
  };

  LockReads(const LockReadsOptions& options, const locks::LockCpu& locks, Doors doors);

  // A request of kind LockCheck, LockCheckBatch, LockGet or LockList whose fields were checked.
  void start(ConnectionId connection,
             const rpc::RequestSlot& request,
             std::span<const std::byte> payload);

  // One shard of a group was confirmed, or could not be. Answers when it was the last.
  void on_confirmed(
      std::uint64_t group, ShardId shard, const Status& status, NodeId leader_hint, Tick now);

  std::size_t group_count() const { return groups_.size(); }

 private:
  struct Group {
    ConnectionId connection;
    rpc::RequestSlot request;
    std::vector<std::byte> payload;
    std::size_t outstanding = 0;
    std::set<std::uint32_t> shards;  // Asked, less those that could not be confirmed.
    std::uint32_t resume_shard = 0;  // Of a list: the first shard that was not looked at.
    Status failure;                  // Of the only shard of a check or get.
    NodeId leader_hint;
  };

  void start_single(ConnectionId connection,
                    const rpc::RequestSlot& request,
                    std::span<const std::byte> payload);
  void start_many(Group group);
  std::set<std::uint32_t> shards_of_batch(const std::vector<rpc::TokenCheck>& checks) const;
  void choose_list_shards(const rpc::ListQuery& query, Group& group) const;
  void finish(const Group& group, Tick now);
  void finish_check(const Group& group, ShardId shard);
  void finish_get(const Group& group, ShardId shard, Tick now);
  void finish_batch(const Group& group);
  void finish_list(const Group& group, Tick now);
  void refuse(const Group& group, rpc::ErrorCode error);
  ShardId shard_of_name(std::string_view name) const;
  rpc::LockRow describe(ShardId shard, const locks::HeldLock& lock, bool waiters, Tick now) const;

  LockReadsOptions options_;
  const locks::LockCpu& locks_;
  Doors doors_;
  std::unordered_map<std::uint64_t, Group> groups_;
  std::uint64_t group_last_ = 0;
};

// The position in a walk over this node's shards: a cursor of LockList. Opaque to clients.
struct ListCursor {
  ShardId shard;
  std::string after;  // Name of the last row that was shown of this shard; empty: none.
};

std::string encode_cursor(const ListCursor& cursor);
// False when no node of this version made it.
bool decode_cursor(std::string_view text, std::uint32_t shard_count, ListCursor& cursor);

}  // namespace gcoord::server
