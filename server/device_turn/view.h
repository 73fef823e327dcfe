// The memory of one node whose turn runs on a device, and how it is divided.
//
// What: the rows of a node are cut into stripes of neighbours. A stripe belongs to one group of
// threads (a warp on a device, a thread on a host), which alone steps its rows, writes its log
// pages and works lane number `stripe` of every channel. A stripe of one node therefore only ever
// speaks to the same stripe of its peers. Why: nothing is shared between groups, so a turn needs no
// barrier and no lock, and one shard's commit waits for no other's (docs/adr/0016).
// Contract: POD views, passed by value to kernels; memory belongs to an arena and is zero-filled
// when it is carved. Nothing grows while a kernel runs; an owner may give a node at rest a larger
// pool of wide rows (resident_pool.h) or of log pages (page_pool.h). Indices and counts unless a
// name says bytes; times in nanoseconds of the device's clock. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/ids.h"
#include "common/tables/column_arena.h"
#include "consensus/device/packed_table.h"
#include "consensus/step/configuration.h"
#include "consensus/step/inbox.h"
#include "consensus/step/liveness.h"
#include "consensus/step/quorum.h"
#include "netcore/gpu_channel/device.h"
#include "netcore/memory/slot.h"
#include "server/device_turn/leader_table.h"
#include "server/device_turn/pages.h"
#include "server/device_turn/service.h"
#include "server/device_turn/trees.h"
#include "server/device_turn/voters.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace gcoord::server {

// Whether a configuration is one of this cluster's nodes, `voters` of them, each in the slot of its
// number, as every row writes it. Nothing else that a peer says of who votes is taken over or
// stored.
GCOORD_HD inline bool is_of_cluster(const consensus::Configuration& configuration,
                                    std::uint32_t voters = kTurnNodes) {
  bool named = consensus::well_formed(configuration, voters);
  for (std::uint32_t slot = 0; slot < voters; ++slot) {
    const NodeId node = configuration.node[slot];
    named = named && (node.value == 0 || node.value == slot + 1);
  }
  return named;
}

// Rows that a group steps at once: the lanes of a warp.
inline constexpr std::uint32_t kTurnPlaces = 32;

// Slots that are polled from one lane in one turn, those held back of the last one included.
inline constexpr std::uint32_t kTurnSlots = 32;

// Entries of one Append at most. Sixteen of 16 bytes fill four slots behind the header.
inline constexpr std::uint32_t kTurnEntriesMax = 16;

// Messages that one step can emit: a request and a reply to each peer, and a reply to a guest.
GCOORD_HD constexpr std::uint32_t turn_messages(std::uint32_t voters) {
  return 2 * (voters - 1) + 1;
}

inline constexpr std::uint32_t kTurnMessages = turn_messages(kTurnNodes);

// Client requests that one row takes in one turn, and replies that one group gives in it.
inline constexpr std::uint32_t kTurnProposals = 8;
inline constexpr std::uint32_t kTurnReplies = 128;

// Replies of them that lie at hand: what a turn of one row gives as a rule.
inline constexpr std::uint32_t kFewReplies = 4;

// Requests that one group takes in in one turn.
inline constexpr std::uint32_t kTurnRequests = 5;

// Slots before them for no-ops: each row of a turn has one at most.
inline constexpr std::uint32_t kNoopSlots = (kTurnPlaces + kNoopsPerSlot - 1) / kNoopsPerSlot;

// Stripes of one block at most: as many as a multiprocessor has registers for. Where many are busy
// they come in such blocks: those that run the same part of a turn share its instruction cache.
inline constexpr std::uint32_t kBlockStripesMax = 8;

// Sizes of a node. The same on all nodes of a cluster but for the service.
struct TurnShape {
  std::uint32_t shard_count = 0;
  std::uint32_t stripe_count = 1;
  std::uint32_t block_stripes =
      1;                           // Stripes that share a block, and its pace; a node's own choice.
  std::uint32_t log_slots = 64;    // Entries behind the floor, per row; a power of two >= 32.
  std::uint32_t entries_max = 16;  // Of one Append; at most kTurnEntriesMax.
  // Places of the first pool of exceptional rows (packed_table.h); a node's own choice.
  std::uint32_t wide_count = 64;
  std::uint32_t voters = kTurnNodes;  // Of every row: all nodes. Of has_turn_of().
};

// A node whose turn is on a device holds all slices, so the row map is the identity there
// (consensus/step/row_map.h). A shard becomes a row by these two only.
GCOORD_HD constexpr std::uint32_t row_of_shard(ShardId shard) {
  return shard.value;
}

GCOORD_HD constexpr ShardId shard_of_row(std::uint32_t row) {
  return ShardId{row};
}

// Neighbouring rows whose deadlines one thread scans with two wide loads.
inline constexpr std::uint32_t kScanRows = 4;

// Rows of every stripe but the last ones, which may have fewer or none.
GCOORD_HD constexpr std::uint32_t stripe_rows(const TurnShape& shape) {
  const std::uint32_t even = (shape.shard_count + shape.stripe_count - 1) / shape.stripe_count;
  return (even + kScanRows - 1) / kScanRows * kScanRows;
}

// A run of rows: [first, end).
struct RowRange {
  std::uint32_t first = 0;
  std::uint32_t end = 0;

  GCOORD_HD bool has(std::uint32_t row) const { return (row >= first) & (row < end); }

  GCOORD_HD std::uint32_t count() const { return end - first; }
};

GCOORD_HD constexpr RowRange rows_of_stripe(const TurnShape& shape, std::uint32_t stripe) {
  const std::uint64_t each = stripe_rows(shape);
  const std::uint64_t first = each * stripe < shape.shard_count ? each * stripe : shape.shard_count;
  const std::uint64_t end = first + each < shape.shard_count ? first + each : shape.shard_count;
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(end)};
}

// The stripe, and so the lane, of a shard.
GCOORD_HD constexpr std::uint32_t stripe_of(const TurnShape& shape, ShardId shard) {
  return row_of_shard(shard) / stripe_rows(shape);
}

// --- What the groups of a node tell each other

// What is the same for all rows of a node between two readings of the clock. Peers come last, so
// that one of few begins as one of many does.
template <std::uint32_t kPeers>
struct TurnInputOf {
  consensus::StepInput input;  // `peer` is set by whoever reads it.
  std::uint64_t wakes = 0;     // Rises when every row is to be stepped: a peer came or went.
  std::uint64_t leave = 0;     // Not 0: the node stops.
  std::uint64_t order = 0;     // The host's word to the service; its meaning is the service's.
  // When its tick is over, by the clock of the device: a lease that counts by this reading says
  // nothing from then on. ~0: see TurnTiming::reads_before_readings.
  std::uint64_t tick_end_ns = 0;
  consensus::PeerLiveness peer[kPeers];
};

using TurnInput = TurnInputOf<kTurnPeersMax>;
static_assert(offsetof(TurnInput, peer) == offsetof(TurnInputOf<kTurnPeers>, peer));

// Readings that a slow reader may be behind before what it copies is overwritten.
inline constexpr std::uint32_t kTurnInputs = 4;

// Written by the node's clock (device_turn_clock.h), read by every stripe in every turn. Reading
// `version` lies in input[version % kTurnInputs].
struct TurnClock {
  alignas(128) std::uint64_t version = 0;
  TurnInput input[kTurnInputs];
};

// TurnControl::abort of a node that leaves because its pool of wide rows is nearly full. Whatever
// else stands there already, stays.
inline constexpr std::uint64_t kAbortPlacesShort = 3;

// Whether a node that left for this word goes on once its host has given it more room.
GCOORD_HD constexpr bool asks_for_room(std::uint64_t abort_word) {
  return abort_word == kAbortPlacesShort || abort_word == kAbortPagesShort;
}

// The host's words to a running node, in memory of the device; the host stores into them by a copy
// (bounded_wait.h has the reason).
struct alignas(128) TurnControl {
  std::uint64_t abort = 0;  // Not 0: leave at once, whatever is under way.
  std::uint64_t wakes = 0;  // Raised by the host: step every row once.
  std::uint64_t order = 0;  // For the service (TurnInput); to be followed by a wake.
  std::uint64_t host = 0;   // Rises while the host is able to work (TurnTiming::host_patience_ns).
};

// What the clock remembers between two readings. One writer.
struct alignas(128) ClockState {
  std::uint64_t start_ns = 0;  // 0: has not run yet.
  std::uint64_t sequence = 0;  // Heartbeats pushed.
  Tick tick;
  Tick beat;  // The next heartbeat.
  std::uint64_t wakes = 0;
  std::uint64_t wakes_seen = 0;  // Of the host's.
  std::uint64_t leave = 0;
  std::uint64_t readings = 0;
  std::uint64_t host = 0;                      // The host's word (TurnControl::host),
  std::uint64_t host_ns = 0;                   // and when it last rose; 0: look for it anew.
  std::uint64_t lost_ns[kTurnPeersMax]{};      // When a peer was last found lost.
  std::uint64_t returned_ns[kTurnPeersMax]{};  // When it was last found alive.
  std::uint32_t heard[kTurnPeersMax]{};        // Liveness words taken in (pull_heartbeat).
  consensus::PeerLiveness peer[kTurnPeersMax];
};

// What one stripe did. One writer; brought up to date when its group leaves.
struct StripeCounts {
  std::uint64_t turns = 0;      // Turns in which a row was stepped.
  std::uint64_t intake_ns = 0;  // Their time from a look that found something until all rows had
                                // a place,
  std::uint64_t step_ns = 0;    // to step and carry out,
  std::uint64_t send_ns = 0;    // to say what is to be said, and to close the turn.
  std::uint64_t steps = 0;      // Rows stepped.
  std::uint64_t stalled = 0;    // Steps that had no credit for some peer.
  std::uint64_t dropped = 0;    // Messages that could not be true.
  std::uint64_t unsent = 0;     // Slots for a living peer that found no credit; must stay 0.
  std::uint64_t lost = 0;       // Slots for a silent peer whose ring is full.
  std::uint64_t applied = 0;    // Commands.
  std::uint64_t requests = 0;
  std::uint64_t replies = 0;
  std::uint64_t held = 0;       // Steps that took less because the log is full of unhashed entries.
  std::uint64_t unreplied = 0;  // Replies for which the client left no room; must stay 0 where a
                                // service tells its host all.
  std::uint64_t led = 0;        // Rows that lead now.
  std::uint64_t elected_ns = 0;  // When a row last became leader.
};

// What a stripe remembers between two turns, and between two kernels.
struct StripeMemory {
  std::uint32_t due_first = 0;  // Its ring of rows that want a turn: where it begins,
  std::uint32_t due_count = 0;  // and how many lie in it.
  std::uint64_t version = 0;    // Newest reading of the clock that was taken over.
  std::uint64_t wakes = 0;
  std::uint64_t looks = 0;      // Turns, with and without work.
  std::uint32_t wake_next = 0;  // How far a bulk wake is, in two passes over the rows.
  std::uint32_t halted = 0;     // Not 0: a row was lost, so no row is stepped here ever again.
  Tick deadline_next = Tick{};  // No row of the stripe is due before this tick.
  StripeCounts counts;
};

// A row whose decided entries the group applies after the steps of the turn (group_apply.h).
struct GroupRow {
  std::uint32_t place = 0;
  std::uint32_t count = 0;  // Entries, the next ones behind what is applied.
  std::uint32_t at = 0;     // Where they are told: slots that were reserved for them.
  NodeId leader;            // As the host is told.
  Term term;
};

// Such rows of one turn.
inline constexpr std::uint32_t kGroupRows = 2;

// The same with what is of each peer: all that there may be in memory, those of the cluster in the
// registers of a group at work.
template <std::uint32_t kPeers>
struct alignas(128) StripeStateOf : StripeMemory {
  std::uint32_t held[kPeers]{};  // Slots on the desk: messages that wait, or not all of one.
  std::uint32_t broken[kPeers]{};
};

using StripeState = StripeStateOf<kTurnPeersMax>;

// From one to the other; peers that only one of them has stay as they are.
template <std::uint32_t kTo, std::uint32_t kFrom>
GCOORD_HD void copy_state(StripeStateOf<kTo>& to, const StripeStateOf<kFrom>& from) {
  static_cast<StripeMemory&>(to) = from;
  GCOORD_UNROLL
  for (std::uint32_t p = 0; p < (kTo < kFrom ? kTo : kFrom); ++p) {
    to.held[p] = from.held[p];
    to.broken[p] = from.broken[p];
  }
}

// Memory that one group works in and that nothing outlives a turn in, but for the held slots and
// the pass.
template <std::uint32_t kVoters>
struct StripeScratchOf {
  // As tiles: message_tiles.h.
  consensus::Message message[kTurnPlaces * turn_messages(kVoters)];
  netcore::Slot snapshot[kTurnPlaces][2];  // A configuration, and what the service saved.
  netcore::Slot reply[kTurnReplies];       // But for the first few, which lie on the desk.
  netcore::Slot refused[kTurnRequests];    // Behind the replies.
  HostNoops noops[kNoopSlots];
  netcore::Slot held[kVoters - 1][kTurnSlots];  // Between two kernels only.
  TurnPass pass;                                // Of the clients' ring; it outlives kernels.
  std::uint16_t outgoing[kTurnPlaces * 24];     // Slots for one peer, as codes.
  GroupRow group[kGroupRows];                   // Of this turn.
};

using StripeScratch = StripeScratchOf<kTurnNodes>;

// --- The node

// The log of one row. Entry i lies in slot i & slot_mask.
template <typename Entry>
struct LogPage {
  Entry* slots = nullptr;
  std::uint64_t slot_mask = 0;

  GCOORD_HD const Entry& entry(LogIndex index) const { return slots[index.value & slot_mask]; }
};

// Service: see device_turn_service.h.
template <typename Service>
struct TurnNode {
  using Entry = typename Service::Entry;

  TurnShape shape;
  NodeId self;
  NodeId peer[kTurnPeersMax];
  consensus::PackedTable table;
  std::uint32_t* wide_used = nullptr;  // Places of the table's pool that are taken,
  std::uint32_t wide_ask = 0;          // from which on the node asks for more; 0: it never does.
  Service service;
  LogPages<Entry> pages;
  LogIndex* applied = nullptr;    // By row: the service has applied up to here.
  std::uint32_t* due = nullptr;   // stripe_rows by stripe: a ring of rows.
  std::uint8_t* flags = nullptr;  // By row: kRow*.
  StripeState* stripe = nullptr;
  void* scratch = nullptr;  // StripeScratchOf<shape.voters> by stripe.
  TurnClock* clock = nullptr;
  ClockState* clock_state = nullptr;
  TurnControl* control = nullptr;
  LeaderTable leaders;  // Of a service that tells its host all; the owner makes it.
  TurnTrees trees;
  netcore::GpuChannelDevice channel[kTurnPeersMax];  // Band::Consensus, a lane per stripe.
  netcore::GpuChannelDevice client;  // Band::Rpc, a lane per stripe; epoch 0: there is none.

  // Of the number of voters that the service says.
  GCOORD_HD StripeScratchOf<kVotersOf<Service>>& scratch_of(std::uint32_t number) const {
    return static_cast<StripeScratchOf<kVotersOf<Service>>*>(scratch)[number];
  }

  // An entry of a row that has a page.
  GCOORD_HD Entry& entry(std::uint32_t row, LogIndex index) const {
    return entry_in(pages.of_row[row], index);
  }

  // The same by the name of the page (LogPages::of_row).
  GCOORD_HD Entry& entry_in(std::uint32_t page, LogIndex index) const {
    return pages.log[slot_of(page, index)];
  }

  GCOORD_HD LogPage<Entry> page_named(std::uint32_t page) const {
    Entry* const slots = page == kNoLogPage ? nullptr : &entry_in(page, LogIndex{});
    return {slots, shape.log_slots - 1};
  }

  GCOORD_HD std::uint64_t& origin_in(std::uint32_t page, LogIndex index) const {
    return pages.origin[slot_of(page, index)];
  }

  // Where an entry of a page lies. A mask, because a device divides slowly.
  GCOORD_HD std::size_t slot_of(std::uint32_t page, LogIndex index) const {
    GCOORD_ASSERT(page != kNoLogPage);
    return static_cast<std::size_t>(page - 1) * shape.log_slots +
           (index.value & (shape.log_slots - 1));
  }
};

// A node as the code for its number of voters names it. What it says is the same.
template <std::uint32_t kVoters, typename Service>
TurnNode<ServiceOfVoters<Service, kVoters>> as_node_of(const TurnNode<Service>& node) {
  GCOORD_ASSERT(node.shape.voters == kVoters);
  return std::bit_cast<TurnNode<ServiceOfVoters<Service, kVoters>>>(node);
}

// Whether a row must have a log page (pages.h).
GCOORD_HD inline bool needs_page(consensus::ShardRef shard) {
  const std::uint8_t slot = shard.hot().self_slot;
  return shard.log().last != shard.log().floor || shard.configuration().joint() ||
         (slot != consensus::kSlotNone &&
          consensus::is_quorum(shard.configuration(), consensus::slot_bit(slot)));
}

// TurnNode::flags.
inline constexpr std::uint8_t kTurnQueued = 1;       // Lies in the due ring.
inline constexpr std::uint8_t kTurnInstallOwed = 4;  // The host is to be told of a snapshot.
// The entry at `applied` is a configuration that the step has not been told of.
inline constexpr std::uint8_t kTurnConfigured = 8;
// It leads, has no log page and has a configuration to propose.
inline constexpr std::uint8_t kTurnPageWanted = 16;

// Entries that one slot behind an Append carries.
template <typename Entry>
inline constexpr std::uint32_t kSlotEntries = netcore::kSlotBytes / sizeof(Entry);

// Slots that `count` entries take.
template <typename Entry>
GCOORD_HD constexpr std::uint32_t entry_slots(std::uint32_t count) {
  return (count + kSlotEntries<Entry> - 1) / kSlotEntries<Entry>;
}

// A snapshot is its configuration and 64 bytes of the service.
inline constexpr std::uint32_t kSnapshotSlots = 2;

// Slots that one row sends to one peer in one turn at most: a request with what follows it, a reply
// and a reply to a guest.
template <typename Entry>
GCOORD_HD constexpr std::uint32_t row_slots(const TurnShape& shape) {
  const std::uint32_t entries = entry_slots<Entry>(shape.entries_max);
  return 3 + (entries > kSnapshotSlots ? entries : kSnapshotSlots);
}

// The same for a row that does not lead before its step: a vote, or the one entry of a new leader,
// and two replies.
inline constexpr std::uint32_t kOthersSlots = 4;

// Whether a lane's ring lets a row speak at all: a receiver may keep to itself that half of it is
// free (credit.h), and the rest must hold what one row says.
template <typename Entry>
GCOORD_HD constexpr bool is_turn_ring(const TurnShape& shape, std::uint32_t ring_slots) {
  return ring_slots / 2 >= row_slots<Entry>(shape) + netcore::kControlReserveSlots;
}

// --- Memory

// The scratch of all stripes of a node of so many voters.
inline std::size_t scratch_bytes(const TurnShape& shape) {
  const std::size_t stripes = shape.stripe_count;
  return shape.voters == 3   ? ColumnArena::bytes_for<StripeScratchOf<3>>(stripes)
         : shape.voters == 5 ? ColumnArena::bytes_for<StripeScratchOf<5>>(stripes)
                             : ColumnArena::bytes_for<StripeScratchOf<7>>(stripes);
}

template <typename Arena>
void* carve_scratch(Arena& arena, const TurnShape& shape) {
  if (shape.voters == 3) {
    return arena.template column<StripeScratchOf<3>>(shape.stripe_count);
  }
  if (shape.voters == 5) {
    return arena.template column<StripeScratchOf<5>>(shape.stripe_count);
  }
  return arena.template column<StripeScratchOf<7>>(shape.stripe_count);
}

// Slots of a row that its packed form has no room for (packed_table.h).
constexpr std::uint32_t more_slots(const TurnShape& shape) {
  return shape.voters - kTurnNodes;
}

// All but the pools of wide rows and of log pages.
template <typename Service>
std::size_t turn_rows_bytes(const TurnShape& shape) {
  const std::size_t rows = shape.shard_count;
  const std::size_t stripes = shape.stripe_count;
  return consensus::packed_rows_bytes(shape.shard_count, more_slots(shape)) +
         page_rows_bytes(shape.shard_count, shape.stripe_count) +
         ColumnArena::bytes_for<std::uint32_t>(1) + ColumnArena::bytes_for<LogIndex>(rows) +
         ColumnArena::bytes_for<std::uint32_t>(stripes * stripe_rows(shape)) +
         ColumnArena::bytes_for<std::uint8_t>(rows) + ColumnArena::bytes_for<StripeState>(stripes) +
         scratch_bytes(shape) + ColumnArena::bytes_for<TurnClock>(1) +
         ColumnArena::bytes_for<ClockState>(1) + ColumnArena::bytes_for<TurnControl>(1);
}

// With a pool of shape.wide_count places; log pages apart.
template <typename Service>
std::size_t turn_node_bytes(const TurnShape& shape) {
  return turn_rows_bytes<Service>(shape) +
         consensus::wide_pool_bytes(shape.voters, shape.wide_count);
}

// Everything but names, service, channels, table of leaders and the pools of wide rows and of log
// pages, which the owner fills in. The rows mean nothing until start_stripe() has stored them.
template <typename Service, typename Arena>
TurnNode<Service> carve_turn_rows(Arena& arena, const TurnShape& shape) {
  GCOORD_ASSERT(shape.entries_max <= kTurnEntriesMax);
  GCOORD_ASSERT(shape.log_slots >= 2 * kTurnEntriesMax);
  GCOORD_ASSERT((shape.log_slots & (shape.log_slots - 1)) == 0);
  GCOORD_ASSERT(has_turn_of(shape.voters));
  TurnNode<Service> node;
  node.shape = shape;
  node.table = consensus::carve_packed_rows(arena, shape.shard_count, shape.voters);
  consensus::carve_more_slots(arena, node.table, more_slots(shape));
  node.wide_used = arena.template column<std::uint32_t>(1);
  node.pages.stripe_count = shape.stripe_count;
  node.pages.log_slots = shape.log_slots;
  carve_page_rows(arena, node.pages, shape.shard_count);
  node.applied = arena.template column<LogIndex>(shape.shard_count);
  node.due = arena.template column<std::uint32_t>(static_cast<std::size_t>(shape.stripe_count) *
                                                  stripe_rows(shape));
  node.flags = arena.template column<std::uint8_t>(shape.shard_count);
  node.stripe = arena.template column<StripeState>(shape.stripe_count);
  node.scratch = carve_scratch(arena, shape);
  node.clock = arena.template column<TurnClock>(1);
  node.clock_state = arena.template column<ClockState>(1);
  node.control = arena.template column<TurnControl>(1);
  return node;
}

// The same with a pool of shape.wide_count places for wide rows.
template <typename Service, typename Arena>
TurnNode<Service> carve_turn_node(Arena& arena, const TurnShape& shape) {
  TurnNode<Service> node = carve_turn_rows<Service>(arena, shape);
  consensus::carve_wide_pool(arena, node.table, shape.wide_count);
  return node;
}

}  // namespace gcoord::server
