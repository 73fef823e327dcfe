// A row in 128 bytes: the form in which a device keeps all but its exceptional rows.
//
// Why: the columns of a row take 376 bytes and 24 per slot, nearly all of them zero or close to
// another field: the commit index lies a few entries behind the last one, the durable term is the
// term. A step on a device costs what it moves, and a million idle shards cost what they occupy.
// So indices are kept as distances from `last`, terms as distances from `term`, and a
// configuration as up to three plain voters and learners. Nothing is rounded: a row that does not
// fit (a joint configuration, a read round under way, a fourth member, a term run too many) is
// `wide`, and its owner keeps it as columns (packed_table.h). docs/adr/0005 has the reasons.
// An owner whose rows have more members by rule keeps 16 bytes for each beside the row (PackedSlot,
// docs/adr/0158); how many those are is a constant of its code, 0 where nobody says else.
// Contract: pack followed by unpack gives back every field that is meant (row_digest.h); pure
// functions; host and device. The deadline is not in here: it has a column of its own that an idle
// scan reads alone.
#pragma once

#include "common/hd.h"
#include "consensus/step/shard_table.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::consensus {

// Members that a packed row can hold. Three replicas are what nearly every shard has.
inline constexpr std::uint32_t kPackedSlots = 3;

// Term runs that a packed row can hold: one, and a second one until the log is compacted past it.
inline constexpr std::uint32_t kPackedRuns = 2;

// Distances have a code for "the field is zero", which is no distance at all.
template <typename Code>
inline constexpr Code kCodeZero = static_cast<Code>(~Code{0});

// What a leader knows of one peer: distances from `last`, session and state.
struct PackedProgress {
  std::uint32_t match_back = kCodeZero<std::uint32_t>;
  std::uint32_t next_back = kCodeZero<std::uint32_t>;  // From last + 1.
  std::uint32_t session_state = 0;  // Session in 24 bits, state in 2, flags in 5.
};

// A member beyond those in the row, of an owner that keeps more: one chunk of memory.
struct alignas(16) PackedSlot {
  PackedProgress progress;
  std::uint16_t node = 0;
  std::uint16_t weight = 0;  // 0 or 1.
};

static_assert(sizeof(PackedSlot) == 16);

// Suffix _back: distance below the field named in the comment, or kCodeZero. The first half is what
// stays as it is while a term lasts and nothing is compacted, the second half what moves with every
// entry: a plain step (plain_step.h) that compacts nothing writes the second one only.
struct alignas(16) PackedRow {
  std::uint64_t term = 0;  // A wide row: its number among the wide ones.
  std::uint64_t floor = 0;
  std::uint64_t leader_since = 0;  // 48 bits; above them campaign_count.
  std::uint32_t leader_incarnation = 0;
  std::uint32_t configuration_from = 0;  // Index of configuration_pending, from floor - kFromBias.
  std::uint16_t leader = 0;
  std::uint16_t vote = 0;
  std::uint16_t durable_vote = 0;
  std::uint16_t floor_term_back = 0;     // term
  std::uint16_t durable_term_back = 0;   // term
  std::uint16_t prevote_term_back = 0;   // term + kTermAhead
  std::uint16_t asked_term_back = 0;     // term + kTermAhead
  std::uint16_t resigned_term_back = 0;  // term + kTermAhead
  SlotMask granted = 0;
  SlotMask rejected = 0;
  SlotMask vote_reply = 0;
  SlotMask prevote_grant = 0;
  SlotMask prevote_reject = 0;
  SlotMask append_reject = 0;
  SlotMask answer = 0;
  SlotMask confirmed = 0;
  SlotMask voters = 0;
  SlotMask learners = 0;
  std::uint16_t node[kPackedSlots]{};
  // Here the second half begins.
  std::uint32_t run_start = 0;  // Of the second run; the first starts at 1.
  std::uint16_t run_term[kPackedRuns]{};
  // transfer_target in 4 bits, run_count in 2, a bit per weight of one, kRowForgetful.
  std::uint16_t slots = 0;
  std::uint16_t bits = 0;           // kPacked*
  std::uint32_t last_ahead = 0;     // From floor.
  std::uint16_t commit_back = 0;    // last
  std::uint16_t applied_back = 0;   // commit
  std::uint16_t verified_back = 0;  // last
  std::uint16_t durable_back = 0;   // last
  std::uint16_t persist_back = 0;   // last + 1
  std::uint16_t pending_back = 0;   // last
  PackedProgress progress[kPackedSlots];
};

static_assert(sizeof(PackedRow) == 128);
static_assert(offsetof(PackedRow, run_start) == sizeof(PackedRow) / 2);

// PackedRow::bits.
inline constexpr std::uint32_t kPackedRoleShift = 0;      // 2 bits
inline constexpr std::uint32_t kPackedSelfShift = 2;      // 4 bits; 15: kSlotNone
inline constexpr std::uint32_t kPackedFlagsShift = 6;     // 6 bits
inline constexpr std::uint32_t kPackedPendingShift = 12;  // request, snapshot, apply: 3 bits
inline constexpr std::uint16_t kPackedWide = 1u << 15;

// Terms of others may be ahead of ours by so much.
inline constexpr std::uint64_t kTermAhead = 256;

// Indices that may lie on either side of the floor are counted from so far below it.
inline constexpr std::uint64_t kFromBias = std::uint64_t{1} << 31;

inline constexpr std::uint32_t kSessionBits = 24;
inline constexpr std::uint32_t kStateBits = 2;
inline constexpr std::uint32_t kTickBits = 48;
inline constexpr std::uint32_t kNarrowSlotNone = 15;
inline constexpr std::uint32_t kRunCountShift = 4;
inline constexpr std::uint32_t kWeightShift = 6;
inline constexpr std::uint32_t kForgetfulShift = kWeightShift + kPackedSlots;
inline constexpr std::uint32_t kPackedHotFlags = 63;  // Of Hot::flags, in PackedRow::bits.

GCOORD_HD constexpr bool is_wide(const PackedRow& packed) {
  return (packed.bits & kPackedWide) != 0;
}

// The role without unpacking; a wide row names it too.
GCOORD_HD constexpr Role role_of(const PackedRow& packed) {
  return static_cast<Role>(packed.bits >> kPackedRoleShift & 3u);
}

// --- Packing. Every function returns a code and remembers in `fits` whether it says everything.

class RowPacker {
 public:
  GCOORD_HD bool fits() const { return fits_; }

  GCOORD_HD void require(bool condition) { fits_ = fits_ && condition; }

  // `value` as it is.
  template <typename Code>
  GCOORD_HD Code narrow(std::uint64_t value) {
    require(value <= kCodeZero<Code>);
    return static_cast<Code>(value);
  }

  // How far `value` lies below `from`; never kCodeZero.
  template <typename Code>
  GCOORD_HD Code back(std::uint64_t from, std::uint64_t value) {
    const std::uint64_t distance = from - value;
    require(distance < kCodeZero<Code>);
    return static_cast<Code>(distance);
  }

  // How far `value` lies above `from`, which may be below zero; never kCodeZero.
  template <typename Code>
  GCOORD_HD Code from_or_zero(std::uint64_t from, std::uint64_t value) {
    const std::uint64_t distance = value - from;
    require(value == 0 || distance < kCodeZero<Code>);
    return value == 0 ? kCodeZero<Code> : static_cast<Code>(distance);
  }

  template <typename Code>
  GCOORD_HD Code back_or_zero(std::uint64_t from, std::uint64_t value) {
    return value == 0 ? kCodeZero<Code> : back<Code>(from, value);
  }

  // What is known of one peer by a row whose log ends with `last`.
  GCOORD_HD PackedProgress peer(std::uint64_t last, const Progress& progress) {
    PackedProgress narrow;
    narrow.match_back = back_or_zero<std::uint32_t>(last, progress.match.value);
    narrow.next_back = back_or_zero<std::uint32_t>(last + 1, progress.next.value);
    require(progress.acked_session >> kSessionBits == 0);
    narrow.session_state =
        progress.acked_session | static_cast<std::uint32_t>(progress.state) << kSessionBits |
        static_cast<std::uint32_t>(progress.flags) << (kSessionBits + kStateBits);
    return narrow;
  }

 private:
  bool fits_ = true;
};

template <typename Code>
GCOORD_HD constexpr std::uint64_t unpack_back(std::uint64_t from, Code code) {
  return code == kCodeZero<Code> ? 0 : from - code;
}

template <typename Code>
GCOORD_HD constexpr std::uint64_t unpack_from(std::uint64_t from, Code code) {
  return code == kCodeZero<Code> ? 0 : from + code;
}

GCOORD_HD constexpr std::uint32_t narrow_slot(std::uint8_t slot) {
  return slot == kSlotNone ? kNarrowSlotNone : slot & 15u;
}

GCOORD_HD constexpr std::uint8_t wide_slot(std::uint32_t slot) {
  return slot == kNarrowSlotNone ? kSlotNone : static_cast<std::uint8_t>(slot);
}

// --- What stays

GCOORD_HD inline void pack_names(RowPacker& packer, ShardRef row, PackedRow& packed) {
  const Hot& hot = row.hot();
  packed.term = hot.term.value;
  packed.leader = packer.narrow<std::uint16_t>(hot.leader.value);
  packed.vote = packer.narrow<std::uint16_t>(hot.vote.value);
  packed.leader_incarnation = hot.leader_incarnation.value;
  packed.durable_vote = packer.narrow<std::uint16_t>(row.storage().durable_vote.value);
  packed.durable_term_back =
      packer.back_or_zero<std::uint16_t>(hot.term.value, row.storage().durable_term.value);
}

GCOORD_HD inline void pack_floor(RowPacker& packer, ShardRef row, PackedRow& packed) {
  const Log& log = row.log();
  packed.floor = log.floor.value;
  packed.configuration_from = packer.from_or_zero<std::uint32_t>(log.floor.value - kFromBias,
                                                                 log.configuration_pending.value);
  packed.floor_term_back =
      packer.back_or_zero<std::uint16_t>(row.hot().term.value, log.floor_term.value);
  packer.require(log.run_count <= kPackedRuns);
  packer.require(log.run_count == 0 || row.runs().start_offset[0] == 1);
  packer.require((log.durable_ahead | log.pending_ahead) == 0);
  packed.run_start = log.run_count > 1 ? row.runs().start_offset[1] : 0;
  packed.run_term[0] =
      log.run_count > 0 ? packer.narrow<std::uint16_t>(row.runs().term_offset[0]) : 0;
  packed.run_term[1] =
      log.run_count > 1 ? packer.narrow<std::uint16_t>(row.runs().term_offset[1]) : 0;
}

GCOORD_HD inline void pack_election(RowPacker& packer, ShardRef row, PackedRow& packed) {
  const Election& e = row.election();
  const std::uint64_t ahead = row.hot().term.value + kTermAhead;
  packer.require(e.leader_since.value >> kTickBits == 0);
  packed.leader_since = e.leader_since.value | static_cast<std::uint64_t>(e.campaign_count)
                                                   << kTickBits;
  packed.prevote_term_back = packer.back_or_zero<std::uint16_t>(ahead, e.prevote_term.value);
  packed.asked_term_back = packer.back_or_zero<std::uint16_t>(ahead, e.asked_term.value);
  packed.resigned_term_back = packer.back_or_zero<std::uint16_t>(ahead, e.resigned_term.value);
  packed.granted = e.granted;
  packed.rejected = e.rejected;
  packed.vote_reply = e.vote_reply;
  packed.prevote_grant = e.prevote_grant;
  packed.prevote_reject = e.prevote_reject;
  packed.append_reject = e.append_reject;
  packed.answer = e.answer;
  packed.confirmed = e.confirmed;
  const std::uint32_t forgetful = (row.hot().flags & kRowForgetful) != 0 ? 1 : 0;
  packed.slots = static_cast<std::uint16_t>(narrow_slot(e.transfer_target) |
                                            row.log().run_count << kRunCountShift |
                                            forgetful << kForgetfulShift);
  const std::uint64_t rare = e.transfer_expires.value | e.read_index.value | e.read_sequence |
                             e.reject_index.value | e.reject_term.value | e.append_context |
                             e.guest.value | e.guest_kind | e.guest_flags;
  packer.require(rare == 0);
}

// Weights of one or none; no joint half. Runs after pack_election, which begins `slots`.
template <std::uint32_t kMore = 0>
GCOORD_HD inline void pack_configuration(RowPacker& packer, ShardRef row, PackedRow& packed) {
  const Configuration& configuration = row.configuration();
  packed.voters = configuration.voters;
  packed.learners = configuration.learners;
  packer.require((configuration.voters_outgoing | configuration.learners_next |
                  configuration.auto_leave) == 0);
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kPackedSlots; ++slot) {
    packed.node[slot] = packer.narrow<std::uint16_t>(configuration.node[slot].value);
    packer.require(configuration.weight[slot] <= 1);
    packed.slots = static_cast<std::uint16_t>(packed.slots | (configuration.weight[slot] & 1u)
                                                                 << (kWeightShift + slot));
  }
  std::uint32_t more = 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = kPackedSlots + kMore; slot < kReplicaSlots; ++slot) {
    more |= configuration.node[slot].value | configuration.weight[slot];
  }
  packer.require(more == 0 && (configuration.members() >> (kPackedSlots + kMore)) == 0);
}

// --- What moves

GCOORD_HD inline void pack_bits(RowPacker& packer, ShardRef row, PackedRow& packed) {
  const Hot& hot = row.hot();
  const Storage& storage = row.storage();
  packer.require((hot.flags & ~(kPackedHotFlags | kRowForgetful)) == 0);
  const std::uint32_t pending = storage.request_pending |
                                std::uint32_t{storage.snapshot_pending} << 1 |
                                std::uint32_t{storage.apply_pending} << 2;
  packed.bits = static_cast<std::uint16_t>(
      static_cast<std::uint32_t>(hot.role) << kPackedRoleShift |
      narrow_slot(hot.self_slot) << kPackedSelfShift |
      (hot.flags & kPackedHotFlags) << kPackedFlagsShift | pending << kPackedPendingShift);
}

GCOORD_HD inline void pack_indices(RowPacker& packer, ShardRef row, PackedRow& packed) {
  const Log& log = row.log();
  const Storage& storage = row.storage();
  const std::uint64_t last = log.last.value;
  packed.last_ahead = packer.narrow<std::uint32_t>(last - log.floor.value);
  packed.commit_back = packer.back<std::uint16_t>(last, log.commit.value);
  packed.applied_back = packer.back<std::uint16_t>(log.commit.value, log.applied.value);
  packed.verified_back = packer.back_or_zero<std::uint16_t>(last, log.verified.value);
  packed.durable_back = packer.back<std::uint16_t>(last, storage.durable.value);
  packed.persist_back = packer.back<std::uint16_t>(last + 1, storage.persist_from.value);
  packed.pending_back = packer.back<std::uint16_t>(last, storage.pending_last.value);
}

// Slots that the row has and a packed one holds.
GCOORD_HD inline std::uint32_t packed_slots(ShardRef row) {
  return row.slot_count() < kPackedSlots ? row.slot_count() : kPackedSlots;
}

GCOORD_HD inline void pack_progress(RowPacker& packer, ShardRef row, PackedRow& packed) {
  const std::uint64_t last = row.log().last.value;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < packed_slots(row); ++slot) {
    packed.progress[slot] = packer.peer(last, row.progress(slot));
  }
}

// Slots beyond the packed ones, which only a table with more slots has, must be empty.
template <std::uint32_t kMore = 0>
GCOORD_HD inline bool more_slots_empty(ShardRef row) {
  std::uint64_t more = 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = kPackedSlots + kMore; slot < row.slot_count(); ++slot) {
    const Progress& progress = row.progress(slot);
    more |= progress.match.value | progress.next.value | progress.acked_session | progress.flags |
            static_cast<std::uint64_t>(progress.state);
  }
  return more == 0;
}

// Packs what a plain step that compacts nothing moves over what the row was unpacked from; false if
// it does not fit.
GCOORD_HD inline bool pack_moving(ShardRef row, PackedRow& packed) {
  RowPacker packer;
  pack_bits(packer, row, packed);
  pack_indices(packer, row, packed);
  pack_progress(packer, row, packed);
  return packer.fits();
}

// Packs a row; false if it does not fit, and then `packed` says nothing. `kMore`: members that are
// kept beside it (PackedMore).
template <std::uint32_t kMore = 0>
GCOORD_HD inline bool pack(ShardRef row, PackedRow& packed) {
  RowPacker packer;
  pack_names(packer, row, packed);
  pack_floor(packer, row, packed);
  pack_election(packer, row, packed);
  pack_configuration<kMore>(packer, row, packed);
  return pack_moving(row, packed) && packer.fits() && more_slots_empty<kMore>(row);
}

// --- Unpacking: all that was packed above.

GCOORD_HD inline void unpack_hot(const PackedRow& packed, Tick deadline, ShardRef row) {
  Hot& hot = row.hot();
  hot = Hot{};
  hot.deadline = deadline;
  hot.term = Term{packed.term};
  hot.leader = NodeId{packed.leader};
  hot.leader_incarnation = Incarnation{packed.leader_incarnation};
  hot.vote = NodeId{packed.vote};
  hot.role = role_of(packed);
  hot.self_slot = wide_slot(packed.bits >> kPackedSelfShift & 15u);
  const bool forgetful = (packed.slots >> kForgetfulShift & 1u) != 0;
  hot.flags = static_cast<std::uint8_t>((packed.bits >> kPackedFlagsShift & kPackedHotFlags) |
                                        (forgetful ? kRowForgetful : 0u));
}

GCOORD_HD inline void unpack_log(const PackedRow& packed, ShardRef row) {
  Log& log = row.log();
  log = Log{};
  log.floor = LogIndex{packed.floor};
  log.last = log.floor + packed.last_ahead;
  log.commit = log.last - packed.commit_back;
  log.applied = log.commit - packed.applied_back;
  log.floor_term = Term{unpack_back(packed.term, packed.floor_term_back)};
  log.verified = LogIndex{unpack_back(log.last.value, packed.verified_back)};
  log.configuration_pending =
      LogIndex{unpack_from(packed.floor - kFromBias, packed.configuration_from)};
  log.run_count = packed.slots >> kRunCountShift & 3u;
  row.runs().start_offset[0] = log.run_count > 0 ? 1 : 0;
  row.runs().start_offset[1] = packed.run_start;
  GCOORD_UNROLL
  for (std::uint32_t k = 0; k < kPackedRuns; ++k) {
    row.runs().term_offset[k] = packed.run_term[k];
  }
}

GCOORD_HD inline void unpack_storage(const PackedRow& packed, ShardRef row) {
  Storage& storage = row.storage();
  storage = Storage{};
  storage.durable = row.log().last - packed.durable_back;
  storage.persist_from = row.log().last + 1 - packed.persist_back;
  storage.pending_last = row.log().last - packed.pending_back;
  storage.durable_term = Term{unpack_back(packed.term, packed.durable_term_back)};
  storage.durable_vote = NodeId{packed.durable_vote};
  const std::uint32_t pending = packed.bits >> kPackedPendingShift;
  storage.request_pending = static_cast<std::uint8_t>(pending & 1u);
  storage.snapshot_pending = static_cast<std::uint8_t>(pending >> 1 & 1u);
  storage.apply_pending = static_cast<std::uint8_t>(pending >> 2 & 1u);
}

GCOORD_HD inline void unpack_election(const PackedRow& packed, ShardRef row) {
  Election& e = row.election();
  e = Election{};
  const std::uint64_t ahead = packed.term + kTermAhead;
  e.leader_since = Tick{packed.leader_since & ((std::uint64_t{1} << kTickBits) - 1)};
  e.campaign_count = static_cast<std::uint8_t>(packed.leader_since >> kTickBits);
  e.prevote_term = Term{unpack_back(ahead, packed.prevote_term_back)};
  e.asked_term = Term{unpack_back(ahead, packed.asked_term_back)};
  e.resigned_term = Term{unpack_back(ahead, packed.resigned_term_back)};
  e.granted = packed.granted;
  e.rejected = packed.rejected;
  e.vote_reply = packed.vote_reply;
  e.prevote_grant = packed.prevote_grant;
  e.prevote_reject = packed.prevote_reject;
  e.append_reject = packed.append_reject;
  e.answer = packed.answer;
  e.confirmed = packed.confirmed;
  e.transfer_target = wide_slot(packed.slots & 15u);
}

GCOORD_HD inline void unpack_configuration(const PackedRow& packed, ShardRef row) {
  Configuration& configuration = row.configuration();
  configuration = Configuration{};
  configuration.voters = packed.voters;
  configuration.learners = packed.learners;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kPackedSlots; ++slot) {
    configuration.node[slot] = NodeId{packed.node[slot]};
    configuration.weight[slot] =
        static_cast<std::uint8_t>(packed.slots >> (kWeightShift + slot) & 1u);
  }
}

GCOORD_HD inline void unpack_peer(const PackedProgress& narrow,
                                  std::uint64_t last,
                                  Progress& progress) {
  progress.match = LogIndex{unpack_back(last, narrow.match_back)};
  progress.next = LogIndex{unpack_back(last + 1, narrow.next_back)};
  progress.acked_session = narrow.session_state & ((1u << kSessionBits) - 1);
  progress.state = static_cast<ProgressState>(narrow.session_state >> kSessionBits & 3u);
  progress.flags =
      static_cast<std::uint8_t>(narrow.session_state >> (kSessionBits + kStateBits) & 31u);
  progress.reserved = 0;
}

GCOORD_HD inline void unpack_progress(const PackedRow& packed, ShardRef row) {
  const std::uint64_t last = row.log().last.value;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < packed_slots(row); ++slot) {
    unpack_peer(packed.progress[slot], last, row.progress(slot));
  }
  GCOORD_UNROLL
  for (std::uint32_t slot = kPackedSlots; slot < row.slot_count(); ++slot) {
    row.progress(slot) = Progress{};
  }
}

// Gives back the row that was packed; `packed` is not wide. Runs that are not meant stay as they
// are in `row`.
GCOORD_HD inline void unpack(const PackedRow& packed, Tick deadline, ShardRef row) {
  GCOORD_ASSERT(!is_wide(packed));
  unpack_hot(packed, deadline, row);
  unpack_log(packed, row);
  unpack_storage(packed, row);
  unpack_election(packed, row);
  unpack_configuration(packed, row);
  unpack_progress(packed, row);
}

// --- Members beside the row

template <std::uint32_t kMore>
struct PackedMore {
  PackedSlot slot[kMore];

  // Of a row with so many slots; false if one does not fit.
  GCOORD_HD bool pack(ShardRef row) {
    RowPacker packer;
    const Configuration& configuration = row.configuration();
    GCOORD_UNROLL
    for (std::uint32_t k = 0; k < kMore; ++k) {
      const std::uint32_t at = kPackedSlots + k;
      slot[k].progress = packer.peer(row.log().last.value, row.progress(at));
      slot[k].node = packer.narrow<std::uint16_t>(configuration.node[at].value);
      slot[k].weight = configuration.weight[at];
      packer.require(configuration.weight[at] <= 1);
    }
    return packer.fits();
  }

  // Into a row that was unpacked but for them.
  GCOORD_HD void unpack(ShardRef row) const {
    GCOORD_UNROLL
    for (std::uint32_t k = 0; k < kMore; ++k) {
      const std::uint32_t at = kPackedSlots + k;
      unpack_peer(slot[k].progress, row.log().last.value, row.progress(at));
      row.configuration().node[at] = NodeId{slot[k].node};
      row.configuration().weight[at] = static_cast<std::uint8_t>(slot[k].weight);
    }
  }
};

// Without any.
template <>
struct PackedMore<0> {
  GCOORD_HD static bool pack(ShardRef) { return true; }

  GCOORD_HD static void unpack(ShardRef) {}
};

}  // namespace gcoord::consensus
