// Pending requests of a host to the turn on its device.
//
// A request waits in its lane's queue until the lane has room, then is with the device until an
// answer, or the end of the row's leadership here, ends it. So each ends exactly once, whatever the
// device still says of it later: tags are never used twice, and one that ended is ignored. Nothing
// is allocated for a request but what was needed before for as many at once (asked_table.h,
// request_ring.h). Bounds: a lane has at most kLaneWeightMax under way and one MoveIn beside it,
// which with the room that is kept free (see `may_take`) is what makes a full pool on the device
// impossible while nodes keep to it. One thread.
#pragma once

#include "common/ids.h"
#include "locks/state/demand.h"
#include "server/interfaces/replicated_log.h"
#include "server/resident/engine/asked_table.h"
#include "server/resident/engine/read_queue.h"
#include "server/resident/engine/request_ring.h"
#include "server/resident/node/node.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

// Weight of a lane's requests under way: one each, and one more for every kRoomNameBlocks blocks of
// a name. All nodes' worth must fit the room that every lane keeps free.
inline constexpr std::uint32_t kLaneWeightMax = 128;

// Weight of a MoveIn, which takes rows for all who hold and wait: whatever it brings. In a busy
// lane it would never find room among the others, so each lane has one beside them.
inline constexpr std::uint32_t kMoveInWeight = 2 + locks::kMoveWaitersMax;

static_assert(kMoveInWeight > kLaneWeightMax);

// Room that a stripe keeps free for what is under way on so many nodes (ResidentRequests): for
// commands that take rows, and for those that only end something.
constexpr std::uint32_t room_kept(std::uint32_t nodes, bool takes) {
  return takes ? nodes * (2 * kLaneWeightMax + kMoveInWeight) : nodes * kLaneWeightMax;
}

class ResidentRequests {
 public:
  explicit ResidentRequests(ResidentNode& node);

  // From now on the numbers of requests say who asked and when (entry_stamp.h), and the log takes
  // entries of the publication: all nodes have Feature::DeviceLedger.
  void begin_stamping() { stamps_ = true; }

  bool stamps() const { return stamps_; }

  // Whether the log has room for what a command says, and a lane for what it may take, ever.
  static bool has_place(const locks::LockCommand& command);

  // Queues what is proposed, a command or a record; false: it does not fit now.
  bool take(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie);

  // Whether a command that has a place fits now: its lane is not too busy, and the pools of the
  // stripe have room for it.
  bool may_take(ShardId shard, const locks::LockCommand& command) const;

  // Queues a command of the node's own. The caller has asked may_take().
  void command(ShardId shard, const locks::LockCommand& command, std::uint64_t cookie);

  // Whether a record of so many bytes fits now, as may_take(); and queues it.
  bool may_take_record(ShardId shard, std::size_t bytes) const;
  void record(ShardId shard, std::span<const std::byte> record, std::uint64_t cookie);

  // Asks the row for a linearizable moment of the shard, by this proof or a stronger one. Reads
  // that wait to be asked share one answer (read_queue.h). False: too many requests are under way.
  bool read(ShardId shard, std::uint64_t cookie, consensus::ReadProof proof);

  // Whoever waits for the read of a tag asks a quorum: its answer was no proof. False: there is no
  // such read, or it ended before.
  bool read_by_round(std::uint64_t tag);

  // A request that the device refuses at once, to see whether the lane lives. Its tag.
  std::uint64_t probe(std::uint32_t lane);

  // Asks the row to hand its leadership to a node. Nothing comes of it where that cannot be.
  void transfer(ShardId shard, NodeId to);

  // Tells the device that what a row asked for is durable.
  void stored(ShardId shard, const consensus::StorageAck& ack);

  // Hands queued requests to the device as far as lanes have room; how many. Reads that have not
  // gone ask for this proof or a stronger one.
  std::size_t push(consensus::ReadProof proof = consensus::ReadProof::LeaseOrRound);

  // What take() of the tag looks at comes nearer.
  void expect(std::uint64_t tag) const { asked_.expect(tag); }

  // The request of a tag, which ends. The caller goes through its riders (next_rider).
  std::optional<Asked> take(std::uint64_t tag);
  // The oldest request of a shard, which ends, unless it came after the one of order `last`.
  std::optional<Asked> take_first(ShardId shard, std::uint64_t last);

  // What the request of a tag is; nothing: it ended, or was never made.
  std::optional<AskedKind> kind_of(std::uint64_t tag) const { return asked_.kind_of(tag); }

  // The next read that shared an answer: its cookie is in `asked`. False: no more.
  bool next_rider(Asked& asked) { return asked_.next_rider(asked); }

  // Whether a request, or a piece of one, had this tag.
  bool is_given(std::uint64_t tag) const { return asked_.was_given(tag); }

  // Whether the device can have had such a request, of that shard if it is still under way.
  bool is_possible(ShardId shard, std::uint64_t tag) const {
    return asked_.was_given(tag) && (!asked_.has(tag) || asked_.shard_of(tag) == shard);
  }

  // The newest tag and order that were given.
  std::uint64_t tag_last() const { return asked_.tag_last(); }

  std::uint64_t order_last() const { return asked_.order_last(); }

  // The stripe's room as the device told it last.
  void note_room(std::uint32_t lane, std::uint32_t room) {
    lanes_[lane].room = std::min(room, room_max_);
  }

  // What shards of the lane take that this device does not have (resident_use.h).
  void note_elsewhere(std::uint32_t lane, std::uint32_t use) { lanes_[lane].elsewhere = use; }

  // Whether somebody waits for what the lane says.
  bool awaits(std::uint32_t lane) const {
    return lanes_[lane].weight != 0 || lanes_[lane].brings || lanes_[lane].reads != 0;
  }

  std::uint32_t lane_count() const { return static_cast<std::uint32_t>(lanes_.size()); }

  std::uint32_t lane_of(ShardId shard) const { return row_of_shard(shard) / stripe_rows_; }

  // The most room that a lane has when it is empty.
  std::uint32_t room_max() const { return room_max_; }

  std::size_t under_way() const { return asked_.size(); }

 private:
  struct Stored {
    ShardId shard;
    consensus::StorageAck ack;
  };

  struct Lane {
    RequestRing queue;
    std::vector<Stored> stored;
    Authority authority;  // Of the pass that was queued last; the device's lane begins so, too.
    std::uint32_t weight = 0;  // Of commands and records under way, without the MoveIn.
    bool brings = false;       // A MoveIn is under way.
    std::uint32_t reads = 0;   // Under way; they take nothing of the pools.
    std::uint32_t room = 0;
    std::uint32_t elsewhere = 0;
  };

  // What a command takes of a lane.
  struct Need {
    locks::LockDemand demand;
    std::uint32_t weight = 1;
    bool brings = false;  // A MoveIn. Of what is taken, it alone weighs more than kLaneWeightMax.
  };

  static Need need_of(const locks::LockCommand& command);
  bool has_room(ShardId shard, const Need& need) const;
  void enqueue(const Asked& asked, const ProposedCommand& proposed);
  void enqueue_entries(const Asked& asked,
                       std::span<const locks::LockEntry> entries,
                       const EntryStamp& stamp);
  void show_pass(std::uint32_t lane, const Authority& authority);
  bool take_command(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie);
  std::uint64_t add(const Asked& asked, std::uint32_t before, const EntryStamp& stamp);
  bool share_read(ShardId shard, std::uint64_t cookie, consensus::ReadProof proof);
  void add_read(ShardId shard, std::uint64_t cookie, consensus::ReadProof proof);
  void queue_reads(consensus::ReadProof proof);
  std::size_t push_stored(std::uint32_t number);
  std::size_t push_requests(std::uint32_t number);

  ResidentNode& node_;
  std::uint32_t stripe_rows_;
  std::uint32_t room_max_;
  std::vector<Lane> lanes_;
  AskedTable asked_;
  ReadQueue reads_;
  bool stamps_ = false;
};

}  // namespace gcoord::server
