// Host's view of the rows of its resident node, with a copy of their state.
//
// Follows what the node tells: decided entries in log order, snapshots, and, in a table beside the
// ring, who leads (resident_leaders.h). Entries go to the service as the host's own engine would
// give them, so its tables are a copy of the device's; after each the two state hashes are
// compared, and the first difference is a failure of the device. A row that stands for a snapshot
// has no state on this device: it `wants` one as of that index or later from another host
// (resident_states.h); until it comes its entries wait here, at most kWaitingMax of them (beyond
// that they are let go, and a later state is wanted), and from then on the host applies alone. One
// thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "server/interfaces/replica_view.h"
#include "server/interfaces/state_machine.h"
#include "server/resident/copy/followers.h"
#include "server/resident/engine/applied_entry.h"
#include "server/resident/engine/leaders.h"
#include "server/resident/engine/proved_reads.h"
#include "server/resident/engine/requests.h"
#include "server/resident/engine/use.h"
#include "server/resident/node/command_reassembler.h"
#include "server/resident/node/lock_ingress.h"
#include "server/resident/node/node.h"
#include "server/turn_lines/role_changes.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

struct ResidentRowCounts {
  std::uint64_t entries = 0;   // Told.
  std::uint64_t compared = 0;  // Commands after which both sides had the same state.
  std::uint64_t absent = 0;    // Rows that the host applies alone.
  // Answers to reads, by what proved them; several reads may share one.
  std::uint64_t leased_reads = 0;
  std::uint64_t round_reads = 0;
  // Shards in whose logs records (locks/commands/entry_record.h) are known to stand, and stamps.
  std::uint64_t recorded = 0;
  std::uint64_t stamped = 0;
  // Requests that the device found unsound, by IngressFault.
  std::array<std::uint64_t, kIngressFaults> unsound{};
};

// Which bytes of the service a stored state has: serialize()'s or checkpoint()'s.
enum class StoredFor : std::uint8_t { Snapshot, Checkpoint };

class ResidentRows {
 public:
  static constexpr std::size_t kWaitingMax = 4096;

  // The references outlive it.
  ResidentRows(const ResidentNode& node, StateMachine& service, ResidentRequests& requests);

  // The rows begin as ones that have forgotten what this node promised. Before anything was told.
  void begin_forgotten() { leaders_.begin_forgotten(); }

  // The row begins as the word says. Before anything was told, and once.
  void begin(ShardId shard, const LeaderWord& word) { leaders_.set({shard, word}); }

  // --- Who leads, in two halves: look() finds what the table says anew, then the caller takes from
  // the ring what was told before, at least where requests are about to end, and follow() lets it
  // take effect: requests of a shard that is not led here any more end, and the service is told
  // where leadership began or ended.

  // What was found; valid until the next look.
  const std::vector<ResidentLeaders::Change>& look();

  // Whether what was found will end requests of the lane: then all that is in it comes first.
  bool is_ending(std::uint32_t lane) const { return ending_[lane]; }

  // Whether anything took effect.
  bool follow();

  const ResidentLeaders& leaders() const { return leaders_; }

  // --- What the ring brings

  // The next thing that lane `lane` brought. Internal: the device and this host differ.
  Status take(std::uint32_t lane, const HostEventSlot& told);

  // The same of what a follower of the lane has had before.
  Status take(std::uint32_t lane, const CopyEvent& event);

  // What take() of it looks at comes nearer. Of what a follower has judged.
  void expect(const CopyEvent& event) const {
    const TurnReply& reply = event.told.reply;
    if (reply.shard.value < rows_.size()) {
      __builtin_prefetch(&rows_[reply.shard.value]);
      requests_.expect(reply.tag);
    }
  }

  // From now on they follow, from where the rows are, and outlive this; nullptr: nobody does. Where
  // the rows' states are read or replaced, whoever does it holds the lane's follower and has passed
  // on what it brought.
  void follow_by(Followers* followers);

  // `lease`: leads, and the copy has what was acknowledged before this term.
  ShardView view(ShardId shard) const;

  const ResidentRowCounts& counts() const { return counts_; }

  // --- States of other hosts

  struct Want {
    ShardId shard;
    LogIndex from;  // The state must be as of this index or a later one.
  };

  // Shards without a state; empty nearly always.
  std::vector<Want> wants() const;

  bool is_wanted(ShardId shard) const { return rows_[shard.value].waits; }

  const ResidentNames& names() const { return names_; }

  std::uint32_t shard_count() const { return static_cast<std::uint32_t>(rows_.size()); }

  // The index as of which the shard's state may be given away now; 0: it is not whole.
  LogIndex whole_at(ShardId shard) const;

  // The index up to which the host has applied the shard.
  LogIndex applied(ShardId shard) const { return rows_[shard.value].applied; }

  // --- What stable storage keeps of a shard

  // Appends the host's state, its index, and the pieces of a name or a record on its way.
  void encode(ShardId shard, StoredFor purpose, std::vector<std::byte>& bytes) const;
  // Takes such bytes in place of the shard's state; empty ones are the initial state.
  Status decode(ShardId shard, std::span<const std::byte> bytes);
  static bool well_formed(std::span<const std::byte> bytes);

  // A decided entry that storage held. Skipped if the state has it already.
  void replay(ShardId shard, LogIndex index, const locks::LockEntry& entry);

  // Whether an entry that says who asked and when (entry_stamp.h) stands in the shard's log up to
  // what was applied.
  bool has_stamps(ShardId shard) const { return rows_[shard.value].has_stamps; }

  // Pieces of a name whose command is still to come.
  CommandReassembler::Pieces pieces(ShardId shard) const;

  // The device starts without the shard's state: this host applies alone.
  void set_absent(ShardId shard);

  // The state of a shard from another host, as of `index`.
  struct HostState {
    ShardId shard;
    LogIndex index;
    bool has_stamps = false;  // As has_stamps(), there.
    std::span<const std::byte> bytes;
  };

  // False: it was not wanted, or is not what the service takes.
  Result<bool> install(const HostState& state);

 private:
  struct Row {
    LogIndex applied;
    LogIndex own_index;          // Of the first entry of a term led here, as told last,
    std::uint32_t own_term = 0;  // and which term that was (low_term).
    bool absent = false;
    bool waits = false;        // It is in waiting_.
    bool has_records = false;  // They are known to stand in its log (ResidentRowCounts::recorded).
    bool has_stamps = false;   // As has_stamps().
  };

  struct Waiting {
    LogIndex from;
    std::deque<HostEventSlot> entries;
  };

  void follow(const ResidentLeaders::Change& change);

  NodeId leader_of(ShardId shard) const { return leaders_.known(shard).leader; }

  // What an entry is, and what became of it already.
  struct Said {
    EntryMeaning meaning;
    const CopyEvent* event = nullptr;  // A follower has had it.
  };

  void note_room(std::uint32_t lane, const HostEventSlot& told);
  void take_snapshot(const TurnReply& told);
  void take_refusal(const TurnReply& told);
  void note_own_term(const TurnReply& told);
  Status take_entry(const HostEventSlot& told, const CopyEvent* event);
  Status keep_waiting(const HostEventSlot& told);
  Status apply(const HostEventSlot& told, const CopyEvent* event);
  Status compare(const HostEventSlot& told, ReassembledKind kind);
  Said read(ShardId shard, LogIndex index, const locks::LockEntry& entry);
  AppliedEntry entry_of(ShardId shard, const locks::LockEntry& entry, const Said& said);
  Status take_read(const TurnReply& told);
  void answer_read(ShardId shard);
  void note_use(ShardId shard, const locks::LockEntry& entry);
  void end_all(ShardId shard);
  void end(Asked asked, StatusCode code, std::uint32_t detail, NodeId leader);
  void confirm(Asked read);

  StateMachine& service_;
  ResidentRequests& requests_;
  ResidentNames names_;
  ResidentLeaders leaders_;
  const std::vector<ResidentLeaders::Change>* changes_ = nullptr;  // Of the last look, to follow.
  std::vector<bool> ending_;                                       // By lane.
  CommandReassembler commands_;                                    // Of rows that nobody follows.
  Followers* followers_ = nullptr;
  ResidentUse use_;
  RoleChanges roles_;
  AppliedEntryBuilder entry_builder_;
  std::vector<Row> rows_;
  std::uint32_t log_slots_;                             // Of a page.
  std::unordered_map<std::uint32_t, Waiting> waiting_;  // By shard.
  ProvedReads proved_;
  ResidentRowCounts counts_;
  std::vector<std::byte> encoded_;  // What read() says last; kept warm.
  AppliedOutcome outcome_;
};

}  // namespace gcoord::server
