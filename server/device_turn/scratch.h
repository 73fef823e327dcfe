// Scratch memory of one group for one turn of its stripe.
//
// A turn takes up to kTurnPlaces rows to work at once: a row that is spoken to, asked for something
// or due gets a place, and everything that concerns it in this turn is found by its place. Messages
// stay in the slots in which they came. Lies in shared memory on a device, 20 KiB per warp;
// anywhere on a host. Contract: one group; members agree on place_count, which each keeps for
// itself, and meet (warp_sync) between writing and reading what another wrote.
#pragma once

#include "common/device/aligned_copy.h"
#include "common/device/device_atomic.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "consensus/step/outbox.h"
#include "server/device_turn/service.h"
#include "server/device_turn/view.h"

#include <cstdint>

namespace gcoord::server {

// The parts of a row that are indexed at run time. An odd number of words of eight bytes, 27 where
// there are three voters, so that the lanes of a warp find theirs in different banks.
template <std::uint32_t kVoters>
struct TurnRowArrays {
  consensus::LogRuns runs;
  consensus::Configuration configuration;
  consensus::Progress progress[kVoters];
};

static_assert(sizeof(TurnRowArrays<3>) == 27 * sizeof(std::uint64_t));
static_assert(sizeof(TurnRowArrays<5>) / sizeof(std::uint64_t) % 2 == 1);
static_assert(sizeof(TurnRowArrays<7>) / sizeof(std::uint64_t) % 2 == 1);

inline constexpr std::uint32_t kNoTurnPlace = ~0u;

// Groups of rows whose deadlines are looked at only when one may have come.
inline constexpr std::uint32_t kScanGroups = 32;

// Which peers take messages: a bit each.
template <typename Service>
inline constexpr std::uint32_t kCreditMasks = 1u << kPeersOf<Service>;

// What members add up in one turn; folded into StripeCounts at its end.
struct TurnTally {
  std::uint32_t stalled;
  std::uint32_t dropped;
  std::uint32_t applied;
  std::uint32_t led;      // May wrap: rows won less rows lost.
  std::uint32_t elected;  // Rows that became leader.
  std::uint32_t held;     // Rows that took less than was offered: StripeCounts::held.
  std::uint32_t exhausted;
  std::uint32_t answered;  // Requests of this node's clients that were executed.
  std::uint32_t grouped;   // Rows that were left to the group; those beyond kGroupRows do without.
};

// The only row of the last turn, unpacked, if it was plain: a shard in a hurry is alone in its
// stripe's turns, and packing and unpacking would be half of them. Newer than the table, but for
// the deadline; put back before the row is looked for there.
template <std::uint32_t kVoters>
struct KeptRow {
  consensus::Hot hot;
  consensus::Log log;
  consensus::LogRuns runs;
  consensus::Storage storage;
  consensus::Election election;
  consensus::Configuration configuration;
  consensus::Progress progress[kVoters];
  std::uint32_t row;   // kNoTurnPlace: none.
  std::uint32_t page;  // Its log page, which stays while the row is kept (LogPages::of_row).
};

// Where what follows a message of the only row of a turn is laid out in StripeWorkspace::outgoing:
// behind all its messages.
template <typename Service>
inline constexpr std::uint32_t kBehindAlone = kVotersOf<Service> == 3 ? 8 : 16;
static_assert(8 >= turn_messages(3) && 16 >= turn_messages(kTurnNodesMax));
static_assert(16 + kTurnEntriesMax <= kTurnSlots);

// Entries that lie behind the messages of the only row already (RowTurn::lay), as an Append from
// the first of them has them.
struct LaidEntries {
  LogIndex first;
  std::uint32_t count;
};

// What the host asks of a row beside its clients' requests.
struct HostOrder {
  std::uint8_t transfer_to = 0;  // The node to hand leadership to; 0: none.
  std::uint8_t read = 0;         // 1 + the request that asks for a read (reads.h); 0: none.
};

template <std::uint32_t kVoters>
struct StripeWorkspaceOf {
  static constexpr std::uint32_t kPeers = kVoters - 1;

  TurnRowArrays<kVoters> arrays[kTurnPlaces];
  KeptRow<kVoters> kept;
  TurnInputOf<kPeers> reading;
  consensus::StepInput input[1u << kPeers];
  consensus::PeerLiveness peer[1u << kPeers][kPeers];
  netcore::Slot slots[kPeers][kTurnSlots];
  netcore::Slot outgoing[kTurnSlots];                            // On their way to a lane.
  netcore::Packet asked[kTurnRequests * netcore::kSlotPackets];  // Came in the clients' ring.
  netcore::Slot request[kTurnRequests];
  netcore::Slot reply[kFewReplies];  // The first of them; the others lie in the scratch.
  std::uint8_t behind[kTurnSlots];   // Slots that follow the header in each slot.
  std::uint8_t waits[kPeers];        // Whether held slots begin with a message that is there whole.
  Tick deadline[kTurnPlaces];
  LogIndex stored[kTurnPlaces][consensus::kInboxMessages];  // What the steps keep of Appends.
  std::uint32_t row[kTurnPlaces];
  std::uint32_t page[kTurnPlaces];  // Of the row, as LogPages::of_row; from take_pages() on.
  std::uint8_t arrived_count[kTurnPlaces];
  std::uint8_t arrived[kTurnPlaces][consensus::kInboxMessages];  // Slots: peer * kTurnSlots + at.
  std::uint8_t snapshot[kTurnPlaces];                            // 1 + which of them; 0: none.
  std::uint8_t woken[kTurnPlaces];
  LogIndex hashed_to[kTurnPlaces];  // Of a row with a tree: what it may forget (TurnTrees).
  consensus::StorageAck stored_ack[kTurnPlaces];
  HostOrder order[kTurnPlaces];
  std::uint8_t proposal_count[kTurnPlaces];
  std::uint8_t proposal[kTurnPlaces][kTurnProposals];  // Numbers of requests.
  std::uint8_t message_count[kTurnPlaces];
  std::uint8_t again[kTurnPlaces];
  std::uint8_t led_anew[kTurnPlaces];  // Its word in the table of leaders is another one.
  TurnTally tally;
  std::uint32_t reply_count;
  std::uint32_t reply_room;  // Replies that this turn may give.
  std::uint32_t refused_count;
  std::uint32_t noop_count;
  std::uint32_t noop_room;  // No-ops that it may tell together.
  std::uint32_t offered;    // 1 + what the service offered to the only row already; 0: not asked.
  std::uint32_t staged;     // Of a kept follower: the host was told what to store,
  consensus::ApplyRequest decided;  // and this is to be applied once it has answered.
  Tick scan_next[kScanGroups];  // By group of rows: none is due before (device_turn_deadlines.h);
  std::uint32_t scan_shift;     // rows of a group, as a power of two.
  LaidEntries laid;
};

using StripeWorkspace = StripeWorkspaceOf<kTurnNodes>;

template <typename Service>
using WorkspaceFor = StripeWorkspaceOf<kVotersOf<Service>>;

template <typename Service>
using ScratchFor = StripeScratchOf<kVotersOf<Service>>;

// What a multiprocessor of compute capability 9.0 gives one block.
inline constexpr std::size_t kBlockSharedBytes = std::size_t{227} * 1024;

// Stripes of one block at most of a node of so many voters: with more peers a group's memory is
// larger, and fewer of them share what a block has.
template <std::uint32_t kVoters>
constexpr std::uint32_t block_stripes_of() {
  constexpr std::size_t kFit = kBlockSharedBytes / sizeof(StripeWorkspaceOf<kVoters>);
  static_assert(kFit != 0);
  return kFit < kBlockStripesMax ? kFit : kBlockStripesMax;
}

static_assert(block_stripes_of<3>() == kBlockStripesMax);

constexpr std::uint32_t block_stripes_max(std::uint32_t voters) {
  return voters == 3   ? block_stripes_of<3>()
         : voters == 5 ? block_stripes_of<5>()
                       : block_stripes_of<7>();
}

// One group at work on its stripe. `state` is every member's own copy, equal in all of them.
template <typename Service>
struct StripeTurn {
  const TurnNode<Service>& node;
  WorkspaceFor<Service>& desk;
  ScratchFor<Service>& scratch;
  std::uint32_t stripe;
  RowRange rows;
  StripeStateOf<kPeersOf<Service>> state;
  std::uint32_t due_ring = 0;  // Places of the ring of rows that want a turn.
  std::uint32_t place_count = 0;
  std::uint32_t again = ~0u;  // The row that was alone in the last turn and wants another one.
  std::uint32_t held_first[kPeersOf<Service>]{};  // Where the held slots of the last turn begin.

  GCOORD_HD Tick tick() const { return desk.reading.input.tick; }
};

// Copies whole 8-byte words, neighbours side by side; all members call it.
GCOORD_HD inline void copy_words(void* to, const void* from, std::uint32_t bytes) {
  auto* target = static_cast<std::uint64_t*>(to);
  const auto* source = static_cast<const std::uint64_t*>(from);
  for (std::uint32_t i = warp_rank(); i < bytes / sizeof(std::uint64_t); i += warp_lanes()) {
    target[i] = source[i];
  }
}

// Takes back what the last turn left, but for its places, which every look does (device_turn.h),
// and held slots.
template <typename Service>
GCOORD_HD void clear_desk(StripeTurn<Service>& t) {
  if (warp_rank() == 0) {
    t.desk.tally = TurnTally{};
    t.desk.reply_count = 0;
    t.desk.reply_room = kTurnReplies;
    t.desk.refused_count = 0;
    t.desk.noop_count = 0;
    t.desk.noop_room = 0;
    t.desk.offered = 0;
    t.desk.laid.count = 0;
    t.node.service.begin_turn(t.stripe);
  }
  warp_sync();
}

// --- Places

// The place of a row, or kNoTurnPlace. All members call it with the same row.
template <typename Service>
GCOORD_HD std::uint32_t place_of(const StripeTurn<Service>& t, std::uint32_t row) {
  for (std::uint32_t base = 0; base < t.place_count; base += warp_lanes()) {
    const std::uint32_t at = base + warp_rank();
    const std::uint32_t found = warp_ballot(at < t.place_count && t.desk.row[at] == row);
    if (found != 0) {
      return base + leading_run(~found, 32);
    }
  }
  return kNoTurnPlace;
}

// By the one member that opens the place.
template <typename Workspace>
GCOORD_HD void open_place(Workspace& desk, std::uint32_t place, std::uint32_t row) {
  desk.row[place] = row;
  desk.arrived_count[place] = 0;
  desk.snapshot[place] = 0;
  desk.woken[place] = 0;
  desk.stored_ack[place] = consensus::StorageAck{};
  desk.order[place] = HostOrder{};
  desk.proposal_count[place] = 0;
  desk.message_count[place] = 0;
  desk.again[place] = 0;
  desk.led_anew[place] = 0;
}

// The row's place, made if there is room; kNoTurnPlace otherwise. All members, the same row.
template <typename Service>
GCOORD_HD std::uint32_t place_for(StripeTurn<Service>& t, std::uint32_t row) {
  const std::uint32_t found = place_of(t, row);
  if (found != kNoTurnPlace || t.place_count == kTurnPlaces) {
    return found;
  }
  if (warp_rank() == 0) {
    open_place(t.desk, t.place_count, row);
  }
  warp_sync();
  return t.place_count++;
}

// The place of a row that one member looks for on its own.
template <typename Service>
GCOORD_HD std::uint32_t own_place_of(const StripeTurn<Service>& t, std::uint32_t row) {
  std::uint32_t place = kNoTurnPlace;
  for (std::uint32_t k = 0; k < t.place_count; ++k) {
    place = t.desk.row[k] == row ? k : place;
  }
  return place;
}

// Gives places to rows that members bring, one each where `wanted`, and returns each member's.
// There is room for all of them. Rows that have a place keep it, and members that bring the same
// row get the same one.
template <typename Service>
GCOORD_HD std::uint32_t place_each(StripeTurn<Service>& t, bool wanted, std::uint32_t row) {
  std::uint32_t place = wanted ? own_place_of(t, row) : kNoTurnPlace;
  const std::uint32_t fresh = warp_ballot(wanted && place == kNoTurnPlace);
  const std::uint32_t first = leading_run(~(warp_match(row) & fresh), 32);
  const bool opens = wanted && place == kNoTurnPlace && first == warp_rank();
  const std::uint32_t opened = warp_ballot(opens);
  // Compiled, own_place_of reads four rows at once, with them some that are opened here. It does
  // not use those; but no member writes what another one reads.
  warp_sync();
  if (opens) {
    GCOORD_ASSERT(t.place_count + rank_among(opened) < kTurnPlaces);
    place = t.place_count + rank_among(opened);
    open_place(t.desk, place, row);
  }
  const std::uint32_t shared = warp_broadcast(place, first < warp_lanes() ? first : 0);
  t.place_count += count_bits(opened);
  warp_sync();
  return wanted && place == kNoTurnPlace ? shared : place;
}

// --- Replies to clients

// Where a reply of the turn, or the entry that belongs to one, is put together.
template <typename Turn>
GCOORD_HD netcore::Slot& reply_slot(const Turn& t, std::uint32_t at) {
  return at < kFewReplies ? t.desk.reply[at] : t.scratch.reply[at];
}

template <typename Turn>
GCOORD_HD void write_reply(const Turn& t, std::uint32_t at, const TurnReply& reply) {
  store_aligned<alignof(netcore::Slot)>(&reply_slot(t, at), reply);
}

// Room for `count` more, side by side; kTurnReplies: none. One member. What is left of the room
// when it does not do is filled with replies that say nothing.
template <typename Turn>
GCOORD_HD std::uint32_t reserve_replies(const Turn& t, std::uint32_t count) {
  const std::uint32_t at = relaxed_add(t.desk.reply_count, count);
  if (at + count <= t.desk.reply_room) {
    return at;
  }
  for (std::uint32_t k = at; k < t.desk.reply_room; ++k) {
    write_reply(t, k, TurnReply{});
  }
  return kTurnReplies;
}

// Divides what a client leaves room for. No-ops have their part only where enough is left beside it
// for whatever else a row may tell at once.
template <typename Workspace>
GCOORD_HD void divide_room(Workspace& desk, std::uint32_t room) {
  const bool both = room >= kTurnReplies / 2;
  const std::uint32_t rest = both ? room - kNoopSlots : room;
  desk.noop_room = both ? kTurnPlaces : 0;
  desk.reply_room = rest < kTurnReplies ? rest : kTurnReplies;
}

// Each request of a turn is refused once at most, and finds its place apart from what is told. By a
// member of a group, or for a row.
template <typename Turn>
GCOORD_HD void put_refusal(const Turn& t, const TurnReply& reply) {
  const std::uint32_t at = relaxed_add(t.desk.refused_count, 1);
  GCOORD_ASSERT(at < kTurnRequests);
  store_aligned<alignof(netcore::Slot)>(&t.scratch.refused[at], reply);
}

template <typename Turn>
GCOORD_HD void refuse(const Turn& t,
                      const TurnRequest& request,
                      TurnVerdict verdict,
                      NodeId leader) {
  TurnReply reply;
  reply.shard = request.shard;
  reply.verdict = verdict;
  reply.tag = request.tag;
  reply.leader = leader;
  put_refusal(t, reply);
}

// A request that the service finds unsound, with its reason.
template <typename Turn>
GCOORD_HD void refuse_unsound(const Turn& t, const TurnRequest& request, std::uint32_t reason) {
  TurnReply reply;
  reply.shard = request.shard;
  reply.verdict = TurnVerdict::Refused;
  reply.tag = request.tag;
  reply.detail = reason;
  put_refusal(t, reply);
}

template <typename Workspace>
GCOORD_HD TurnRequest request_at(const Workspace& desk, std::uint32_t at) {
  return load_aligned<TurnRequest>(&desk.request[at]);
}

}  // namespace gcoord::server
