// The state of the shard replicas of one row map as columns, and a reference to one row of them.
//
// A column is an array with one small struct per shard; fields that are used together share a
// struct of at most 96 bytes, and the fields that an idle scan touches share `Hot` (32 bytes).
// Nothing in a row is a pointer, a clock or an allocation, so a row may live in host or device
// memory and two rows compare by their bytes. Entries themselves are not here: the row knows where
// terms begin (LogRuns), the owner of the table keeps the payloads by index (docs/adr/0002).
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/ids.h"
#include "common/tables/column_arena.h"
#include "consensus/step/configuration.h"
#include "consensus/step/row_map.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::consensus {

enum class Role : std::uint8_t { Follower = 0, PreCandidate = 1, Candidate = 2, Leader = 3 };

// Terms that a log can hold at once between its floor and its end: so many elections in a row may
// end without a decision before a leader has to wait for every voter (log_runs.h).
inline constexpr std::uint32_t kRunSlots = 12;

struct Hot {
  Tick deadline = kTickNever;  // The row wants a step at this tick.
  Term term;
  NodeId leader;                   // Recorded leader of `term`; 0: none known.
  Incarnation leader_incarnation;  // The life of the leader's node when it was accepted.
  NodeId vote;                     // Whom this replica voted for in `term`; 0: nobody.
  Role role = Role::Follower;
  std::uint8_t self_slot = kSlotNone;  // kSlotNone: not a member by the configuration applied here.
  std::uint8_t flags = 0;              // kRow*
  std::uint8_t reserved = 0;
};

static_assert(sizeof(Hot) == 32);

// Bits of Hot::flags.
// An AppendReply is owed to the recorded leader.
inline constexpr std::uint8_t kRowAppendReply = 1;
inline constexpr std::uint8_t kRowAppendReject = 2;  // ... and it is a rejection with a hint.
// The recorded leader is to be asked if it still leads.
inline constexpr std::uint8_t kRowQueryLeader = 4;
inline constexpr std::uint8_t kRowStalled = 8;  // Something was not emitted for want of credit.
inline constexpr std::uint8_t kRowLeaderGone =
    32;  // The leader of this term said that it does not lead.
inline constexpr std::uint8_t kRowTransferVote = 16;  // Candidate: campaigns on the leader's order.
// What this replica promised in an earlier life is lost (memory mode): it neither votes nor counts
// until a leader re-admits it (readmission.h).
inline constexpr std::uint8_t kRowForgetful = 64;

struct Log {
  LogIndex last;      // Newest entry in the log.
  LogIndex commit;    // Newest entry known to be decided.
  LogIndex applied;   // Newest entry whose application was acknowledged to the step.
  LogIndex floor;     // Everything up to here is known only as a snapshot; entries start behind it.
  Term floor_term;    // Term of the entry at floor.
  LogIndex verified;  // Follower: matches the leader of `term` up to here. 0 in a new term.
  LogIndex configuration_pending;  // Newest configuration entry in the log, applied or not.
  std::uint32_t run_count = 0;
  // While a configuration is not applied, by how many entries beyond `applied` the log is decided,
  // kAheadMax at most: by what stable storage knows, and by the request under way (decided.h). Both
  // are 0 otherwise.
  std::uint16_t durable_ahead = 0;
  std::uint16_t pending_ahead = 0;
};

static_assert(sizeof(Log) == 64);

// Terms as runs: run k begins at floor + start_offset[k], has term floor_term + term_offset[k] and
// ends where the next one begins, or with the log. Both rise. Only run_count runs are meant.
struct LogRuns {
  std::uint32_t start_offset[kRunSlots]{};
  std::uint32_t term_offset[kRunSlots]{};
};

static_assert(sizeof(LogRuns) == 96);

// Where this replica's storage stands. Votes and acknowledgements are emitted from these fields
// only.
struct Storage {
  LogIndex durable;       // The log is on stable storage up to here.
  LogIndex persist_from;  // First index not handed to storage yet.
  LogIndex pending_last;  // What the request under way makes durable; lowered when the log is cut
                          // meanwhile.
  Term durable_term;      // Term and vote on stable storage.
  NodeId durable_vote;
  std::uint8_t request_pending = 0;   // One StorageRequest is under way.
  std::uint8_t snapshot_pending = 0;  // An installed snapshot has not been handed to storage yet.
  std::uint8_t apply_pending = 0;     // One ApplyRequest is under way.
  std::uint8_t reserved = 0;
};

static_assert(sizeof(Storage) == 40);

// What campaigns, transfers and reads need; meaningless while a shard is idle.
struct Election {
  Tick
      leader_since;  // Leader: when it was elected; check-quorum starts one election timeout later.
  Tick transfer_expires;  // Leader: the transfer under way, or the last one of this term, is void
                          // after this tick.
  Term resigned_term;     // Former leader: the term whose end its peers are to be told; 0: none.
  LogIndex read_index;  // Commit index of the open read round; 0 while no entry of the own term is
                        // committed.
  std::uint64_t read_sequence = 0;  // Number of the open read round; 0: none.
  LogIndex reject_index;  // Follower: the previous index that the owed AppendReply refuses.
  Term reject_term;       // ... and the term that the leader gave it.
  std::uint64_t append_context = 0;  // Follower: read round to echo in the owed reply.
  SlotMask granted = 0;              // Candidate: votes.
  SlotMask rejected = 0;
  SlotMask vote_reply = 0;      // VoteReply owed to these slots; granted iff it is `vote`.
  SlotMask prevote_grant = 0;   // PreVoteReply owed: granted.
  SlotMask prevote_reject = 0;  // PreVoteReply owed: rejected.
  SlotMask append_reject = 0;   // A reply that tells a deposed leader our term.
  SlotMask answer = 0;          // LeaderAnswer owed.
  // Leader: who confirmed the open read round. Former leader: who knows that it does not lead any
  // more.
  SlotMask confirmed = 0;
  Term prevote_term;            // Term of the granted PreVotes.
  Term asked_term;              // Term of the LeaderQuery to answer.
  NodeId guest;                 // A requester outside the configuration; owed what guest_kind says.
  std::uint8_t guest_kind = 0;  // The MessageKind of the reply owed to the guest; 0: none.
  std::uint8_t guest_flags = 0;
  std::uint8_t transfer_target = kSlotNone;
  std::uint8_t campaign_count = 0;  // Campaigns since a leader was known; spreads the retries.
};

static_assert(sizeof(Election) == 96);

enum class ProgressState : std::uint8_t { Probe = 0, Replicate = 1, Snapshot = 2 };

// The present last, commit and read round were sent.
inline constexpr std::uint8_t kProgressSent = 1;
inline constexpr std::uint8_t kProgressKnowsCommit = 2;  // Acknowledged the present commit index.
inline constexpr std::uint8_t kProgressHeard = 4;        // Answered since the last resend.
// The peer says that it has forgotten its promises: it counts in no quorum (readmission.h).
inline constexpr std::uint8_t kProgressForgetful = 8;
// The leader appended a configuration in which the peer is no voter, after it had heard of the
// peer's present life.
inline constexpr std::uint8_t kProgressAnchored = 16;

// Leader: one peer. For the own slot, match is the durable index.
struct Progress {
  LogIndex match;
  LogIndex next;
  // PeerLiveness::session in which the peer acknowledged this shard in this term.
  std::uint32_t acked_session = 0;
  ProgressState state = ProgressState::Probe;
  std::uint8_t flags = 0;
  std::uint16_t reserved = 0;
};

static_assert(sizeof(Progress) == 24);

// POD view of the columns; pass by value. progress has slot_count planes of row_count elements, one
// behind the other, and is the last column: more planes may follow (grow_slots).
struct ShardColumns {
  std::uint32_t row_count = 0;
  std::uint32_t slot_count = 0;
  // The shard of row 0 where there is no map and rows follow their shards: a row that lies outside
  // its table, or all shards.
  std::uint32_t first_shard = 0;
  const RowMap* map = nullptr;  // The shards of the rows otherwise. Host memory; it outlives them.
  Hot* hot = nullptr;
  Log* log = nullptr;
  LogRuns* runs = nullptr;
  Storage* storage = nullptr;
  Election* election = nullptr;
  Configuration* configuration = nullptr;
  Progress* progress = nullptr;
};

// Names the shards of the rows by a map, which outlives the columns. One that holds all shards is
// not looked at again: shard and row have the same number there.
inline void name_rows(ShardColumns& columns, const RowMap& map) {
  GCOORD_ASSERT(columns.row_count == map.row_count());
  columns.map = map.holds_all() ? nullptr : &map;
}

// One row. Cheap to copy; members return references into the columns.
class ShardRef {
 public:
  GCOORD_HD ShardRef(const ShardColumns& columns, std::uint32_t row)
      : columns_(columns), row_(row) {
    GCOORD_ASSERT(row < columns.row_count);
  }

  // A device has no maps, and is spared the question: there it decides what is inlined into a step.
  GCOORD_HD ShardId shard() const {
    if constexpr (!kIndexBySelection) {
      if (columns_.map != nullptr) {
        return columns_.map->shard_of(row_);
      }
    }
    return ShardId{columns_.first_shard + row_};
  }

  GCOORD_HD std::uint32_t slot_count() const { return columns_.slot_count; }

  GCOORD_HD Hot& hot() const { return columns_.hot[row_]; }

  GCOORD_HD Log& log() const { return columns_.log[row_]; }

  GCOORD_HD LogRuns& runs() const { return columns_.runs[row_]; }

  GCOORD_HD Storage& storage() const { return columns_.storage[row_]; }

  GCOORD_HD Election& election() const { return columns_.election[row_]; }

  GCOORD_HD Configuration& configuration() const { return columns_.configuration[row_]; }

  // The progress of a slot that is known only at run time: as a copy, to be stored afterwards. What
  // lies in a device's registers cannot be indexed, only selected.
  GCOORD_HD Progress load_progress(std::uint32_t slot) const {
    if constexpr (!kIndexBySelection) {
      return progress(slot);
    } else {
      Progress loaded;
      GCOORD_UNROLL
      for (std::uint32_t k = 0; k < columns_.slot_count; ++k) {
        loaded = k == slot ? progress(k) : loaded;
      }
      return loaded;
    }
  }

  GCOORD_HD void store_progress(std::uint32_t slot, const Progress& stored) const {
    if constexpr (!kIndexBySelection) {
      progress(slot) = stored;
    } else {
      GCOORD_UNROLL
      for (std::uint32_t k = 0; k < columns_.slot_count; ++k) {
        progress(k) = k == slot ? stored : progress(k);
      }
    }
  }

  GCOORD_HD Progress& progress(std::uint32_t slot) const {
    GCOORD_ASSERT(slot < columns_.slot_count);
    return columns_.progress[static_cast<std::size_t>(slot) * columns_.row_count + row_];
  }

 private:
  ShardColumns columns_;
  std::uint32_t row_;
};

// Bytes that the columns of row_count rows take.
std::size_t shard_columns_bytes(std::uint32_t row_count, std::uint32_t slot_count);

// Carves the columns out of an arena, host or device, and leaves them zero-filled, which is no
// valid row.
template <typename Arena>
ShardColumns place_shard_columns(Arena& arena, std::uint32_t row_count, std::uint32_t slot_count) {
  GCOORD_ASSERT(slot_count >= 1);
  GCOORD_ASSERT(slot_count <= kReplicaSlots);
  ShardColumns columns;
  columns.row_count = row_count;
  columns.slot_count = slot_count;
  columns.hot = arena.template column<Hot>(row_count);
  columns.log = arena.template column<Log>(row_count);
  columns.runs = arena.template column<LogRuns>(row_count);
  columns.storage = arena.template column<Storage>(row_count);
  columns.election = arena.template column<Election>(row_count);
  columns.configuration = arena.template column<Configuration>(row_count);
  columns.progress =
      arena.template column<Progress>(static_cast<std::size_t>(row_count) * slot_count);
  return columns;
}

// The same, with address space behind them in which they may grow (grow_slots).
std::size_t growing_columns_bytes(std::uint32_t row_count);

// Gives the rows slots up to slot_count, empty ones. The columns end an arena of
// growing_columns_bytes() whose rest is still zero-filled, as Progress{} is. slot_count is not less
// than it was, and at most kReplicaSlots.
void grow_slots(ShardColumns& columns, std::uint32_t slot_count);

// Carves the columns out of the arena and resets every row to "empty log, no configuration". 1 <=
// slot_count <= 8.
ShardColumns carve_shard_columns(ColumnArena& arena,
                                 std::uint32_t row_count,
                                 std::uint32_t slot_count);

// A digest of every column of one row, for parity between steppers and replays.
std::uint64_t row_digest(const ShardColumns& columns, std::uint32_t row);

}  // namespace gcoord::consensus
