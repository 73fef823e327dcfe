// Background checkpoints of changed shards into the store, without blocking a turn.
//
// A checkpoint covers the log of record up to the lsn that was durable when it began. Over the next
// turns every shard that had changed by then is written as of the moment at which it is looked at:
// a shard at rest (no storage request under way) is exactly what the durable records say of it, so
// its value names the durable lsn of that moment and replay goes on behind it. A shard that is
// never at rest is held: its new input waits until its requests are acknowledged, two syncs at
// most; the store's writes go on meanwhile and hold nobody. Values go to the store in slices; only
// the last one moves the covered lsn.
//
// While the service is behind with work of its own, a checkpoint in the midst of it would write
// what is about to change again, and take the disk and the processors from it. So one that time
// alone asks for waits or pauses, for one interval more at most.
//
// Only who holds all shards of the node says which records of the log of record are covered, since
// the log drops what is. A checkpoint of some slices leaves that as it is: its values name their
// own records, and those of other slices stay in the log (docs/internals/threads.md).
//
// The rows may lie in several row maps, which are gone through one after the other.
//
// While it is at it, a checkpoint has logs compacted: busy shards keep a few entries, shards that
// were quiet since the checkpoint before keep none. One thread.
#pragma once

#include "common/ids.h"
#include "consensus/step/liveness.h"
#include "consensus/step/shard_table.h"
#include "ledger/base/lsn.h"
#include "server/interfaces/state_machine.h"
#include "server/replicas/active.h"
#include "server/replicas/checkpoint_ends.h"
#include "server/replicas/checkpoint_marks.h"
#include "server/replicas/checkpoint_slice.h"
#include "server/replicas/disk.h"
#include "server/replicas/entry_log.h"
#include "server/replicas/metrics.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

class Checkpointing {
 public:
  struct Options {
    std::uint64_t interval_ms = 0;  // 0: never by time.
    std::uint64_t wal_bytes = 0;
    bool covers_log = true;  // The rows are all that the log of record speaks of.
  };

  // The rows of one row map.
  struct Part {
    const consensus::ShardColumns& columns;
    const EntryLog& log;
    const EntryPool& pool;
    ActiveRows& rows;
  };

  // What it reads and asks; all outlive it.
  struct Environment {
    std::vector<Part> parts;
    StateMachine& service;
    ReplicaDisk& disk;
    ReplicaMetrics& metrics;
  };

  Checkpointing(const Options& options, const Environment& environment, std::uint64_t now_ms);

  // Where rows of the part are marked that differ from their checkpoint. Outside of the calls below
  // another thread may do that, one for each part.
  CheckpointMarks& marks(std::size_t part) { return marks_[part]; }

  // Asks for a checkpoint of all that is applied by now, right after the one under way. Returns
  // its number.
  std::uint64_t request() {
    requested_ = true;
    return ends_.next_number();
  }

  // How the checkpoint of that number ended, or a later one that held what it held; nothing before.
  std::optional<Status> outcome(std::uint64_t number) const { return ends_.outcome(number); }

  // A bounded part of the work, called once per turn between stepping and applying. Returns how
  // many shards were looked at.
  std::size_t advance(std::uint64_t now_ms, std::span<const consensus::PeerLiveness> peers);

  // Whether advance() has more to do without waiting for a thread.
  bool busy() const {
    return state_ == State::Collecting && !paused_ &&
           (held_.empty() || resumed_ || cursor_.part < environment_.parts.size());
  }

  // Whether a checkpoint is under way, so that advance() may read states.
  bool under_way() const { return state_ != State::Idle; }

  // How the last checkpoint ended, once.
  std::optional<Status> take_end() { return ends_.take(); }

  // Gives back what a large checkpoint made grow, once after each. True if there was one.
  bool shrink();

  // When advance() has something to do by time; ~0: never.
  std::uint64_t next_due_ms() const;

 private:
  // Of the checkpoint under way, for the node's log.
  struct Tally {
    std::uint64_t now_ms = 0;  // Of the last advance().
    std::uint64_t shards = 0;
    std::uint64_t bytes = 0;
  };

  enum class State : std::uint8_t { Idle, Collecting, Handing, Writing };

  // A row of a part.
  struct Place {
    std::size_t part = 0;
    std::uint32_t row = 0;
  };

  bool due(std::uint64_t now_ms) const;
  bool pressed() const;
  bool put_off(std::uint64_t now_ms) const;
  void begin(std::uint64_t now_ms);
  std::size_t collect(std::span<const consensus::PeerLiveness> peers);
  bool seek();
  bool at_rest(const Place& place) const;
  bool collect_held();
  bool look_at(const Place& place, std::span<const consensus::PeerLiveness> peers);
  void write_row(const Place& place);

  RowWork& work_of(const Place& place) {
    return environment_.parts[place.part].rows.touch(place.row);
  }

  std::uint64_t entry_bytes() const;
  void hand_over();
  void take_result();
  void end(const Status& status);
  void tell(const Status& status) const;

  Options options_;
  Environment environment_;
  State state_ = State::Idle;
  bool requested_ = false;
  bool by_time_ = false;  // What is under way was not asked for, nor pressing, nor put off.
  bool paused_ = false;   // While it is collecting.
  bool last_slice_ = false;
  bool grown_ = false;    // A checkpoint ended since the last shrink().
  bool resumed_ = false;  // Held rows have not been looked at since a slice was written.
  std::vector<CheckpointMarks> marks_;  // By part.
  Place cursor_;                        // The next to be looked at; behind the last part: none.
  std::vector<Place> held_;
  ledger::Lsn begin_lsn_;
  std::uint64_t begin_ms_;
  std::uint64_t begin_bytes_ = 0;
  std::uint64_t begin_entry_bytes_ = 0;
  CheckpointEnds ends_;
  Tally tally_;
  CheckpointSlice slice_;  // That is being collected, or handed over.
};

}  // namespace gcoord::server
