// Pending requests of a host to the turn on its device.
//
// A request waits in its lane's queue until the lane has room, then is with the device until an
// answer, or the end of the row's leadership here, ends it. So each ends exactly once, whatever the
// device still says of it later: tags are never used twice, and an unknown one is ignored. Bounds:
// a lane has at most kLaneWeightMax under way, which with the room that is kept free (see
// `may_take`) is what makes a full pool on the device impossible while nodes keep to it. One
// thread.
#pragma once

#include "common/ids.h"
#include "locks/commands/entry.h"
#include "server/interfaces/replicated_log.h"
#include "server/resident/node/node.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace gcoord::server {

// Weight of a lane's requests under way: one each, and one more for every kRoomNameBlocks blocks of
// a name. Three nodes' worth must fit the room that every lane keeps free.
inline constexpr std::uint32_t kLaneWeightMax = 128;

enum class AskedKind : std::uint8_t { Command, Barrier };

struct Asked {
  AskedKind kind = AskedKind::Command;
  ShardId shard;
  std::uint32_t weight = 1;
  std::vector<std::uint64_t> cookies;  // One of a command; the reads that wait for a barrier.
};

class ResidentRequests {
 public:
  explicit ResidentRequests(ResidentNode& node);

  // Whether the log has room for what a command says, and a lane for what it may take, ever.
  static bool has_place(const locks::LockCommand& command);

  // Queues what is proposed, a command or a record; false: it does not fit now.
  bool take(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie);

  // Whether a command that has a place fits now: its lane is not too busy, and the pools of the
  // stripe have room for it.
  bool may_take(ShardId shard, const locks::LockCommand& command) const;

  // Queues a command. The caller has asked may_take().
  void command(ShardId shard, const locks::LockCommand& command, std::uint64_t cookie);

  // Whether a record of so many bytes fits now, as may_take(); and queues it.
  bool may_take_record(ShardId shard, std::size_t bytes) const;
  void record(ShardId shard, std::span<const std::byte> record, std::uint64_t cookie);

  // A linearizable moment of the shard: read cookies of one pass share a barrier.
  void barrier(ShardId shard, std::uint64_t cookie);

  // A request that the device refuses at once, to see whether the lane lives. Its tag.
  std::uint64_t probe(std::uint32_t lane);

  // Asks the row to hand its leadership to a node. Nothing comes of it where that cannot be.
  void transfer(ShardId shard, NodeId to);

  // Tells the device that what a row asked for is durable.
  void stored(ShardId shard, const consensus::StorageAck& ack);

  // Hands queued requests to the device as far as lanes have room; how many.
  std::size_t push();

  // The request of a tag, which ends.
  std::optional<Asked> take(std::uint64_t tag);
  // All requests of a shard, which end.
  std::vector<Asked> take_shard(ShardId shard);

  // The stripe's room as the device told it last.
  void note_room(std::uint32_t lane, std::uint32_t room) { lanes_[lane].room = room; }

  // What shards of the lane take that this device does not have (resident_use.h).
  void note_elsewhere(std::uint32_t lane, std::uint32_t use) { lanes_[lane].elsewhere = use; }

  // Whether somebody waits for what the lane says.
  bool awaits(std::uint32_t lane) const { return lanes_[lane].weight != 0; }

  std::uint32_t lane_count() const { return static_cast<std::uint32_t>(lanes_.size()); }

  std::uint32_t lane_of(ShardId shard) const;

  std::size_t under_way() const { return asked_.size(); }

 private:
  struct Lane {
    std::deque<std::vector<TurnRequest>> queue;  // Each to be pushed whole.
    std::deque<std::pair<ShardId, consensus::StorageAck>> stored;
    std::uint32_t weight = 0;  // Under way.
    std::uint32_t room = 0;
    std::uint32_t elsewhere = 0;
  };

  void enqueue(ShardId shard, const std::vector<locks::LockEntry>& entries, Asked asked);
  void forget(std::uint64_t tag, const Asked& asked);
  std::size_t push_stored(std::uint32_t number);

  ResidentNode& node_;
  std::vector<Lane> lanes_;
  std::uint64_t tag_last_ = 0;
  std::unordered_map<std::uint64_t, Asked> asked_;                             // By tag.
  std::unordered_map<std::uint32_t, std::unordered_set<std::uint64_t>> tags_;  // By shard.
  std::unordered_map<std::uint32_t, std::uint64_t> open_barrier_;  // By shard: not pushed yet.
};

}  // namespace gcoord::server
