// Follower of some lanes of a resident node: their copy of the lock tables, ahead of the loop.
//
// What: pulls what the lanes bring, judges its form, puts commands together from their pieces,
// applies those to the tables, compares the state after each with the device's, and hands all of it
// on, in the lane's order, through a ring per lane. The node's loop passes on what it finds there:
// to history, to who waits, to clients. So the tables may be ahead of the loop by what lies in the
// rings: at most kCopyRingEvents of a lane.
// What is applied here: acquires, releases, cancelled waits and registrations, whose doings no
// other machine of the shard looks up in the tables. Everything else is left to the loop, and with
// it what follows in its shard until the loop has had it; of a shard that stands for a snapshot,
// all of it is, for good. docs/adr/0145.
//
// The first failure ends it; the loop finds it (failed()). One thread at a time, but for what is
// said to be the loop's.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "common/tables/mapped_column.h"
#include "locks/cpu/lock_cpu.h"
#include "server/resident/copy/event_ring.h"
#include "server/resident/copy/event_shape.h"
#include "server/resident/node/command_reassembler.h"
#include "server/resident/node/node.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::server {

// Events of a lane that the loop may be behind: some milliseconds of a lane's work.
inline constexpr std::uint32_t kCopyRingEvents = 1024;

class Follower {
 public:
  // Both references outlive it. `shape` is the judge of what it pulls.
  struct Environment {
    ResidentNode& node;
    locks::LockCpu& tables;
    EventShape shape;
  };

  // Neighbouring lanes; how many events a ring has room for.
  struct Lanes {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t ring_events = kCopyRingEvents;
  };

  Follower(const Environment& environment, const Lanes& lanes);

  // --- Before it follows: how far the shard has come, and that it stands for a snapshot.
  void begin(ShardId shard, LogIndex applied, const CommandReassembler::Pieces& pieces);

  void begin_left(ShardId shard) { left_for_good_[shard.value] = 1; }

  // Goes on with a lane by at most so many events; by how many it did.
  std::uint32_t follow(std::uint32_t lane, std::uint32_t most);

  // Pieces of a name whose command is still to come.
  CommandReassembler::Pieces pieces(ShardId shard) const { return commands_.pieces(shard); }

  // --- The loop's, at any time

  // The oldest event of a lane that was not popped; nullptr: there is none.
  const CopyEvent* front(std::uint32_t lane) const { return ring(lane).front(); }

  void pop(std::uint32_t lane) { ring(lane).pop(); }

  // As EventRing: the one behind it; and what front() will look at.
  const CopyEvent* second(std::uint32_t lane) const { return ring(lane).second(); }

  void expect(std::uint32_t lane) const { ring(lane).expect(); }

  // The node's tick, by which sessions register. It is told in every pass and seldom new.
  void set_time(Tick now) {
    if (now_.load(std::memory_order_relaxed) != now.value) {
      now_.store(now.value, std::memory_order_relaxed);
    }
  }

  // Whether everything is left to the loop from the next follow() on; that holds after whoever
  // called this has once had the follower.
  void leave_all(bool left) { leaves_all_.store(left, std::memory_order_relaxed); }

  bool failed() const { return failed_.load(std::memory_order_acquire); }

  // Once it failed.
  const Status& failure() const { return failure_; }

  struct Counts {
    std::uint64_t ahead = 0;       // Events in its rings now,
    std::uint64_t ahead_most = 0;  // and the most of a lane that there ever were.
    std::uint64_t full = 0;        // Times that a ring was full.
    std::uint64_t applied = 0;     // Entries that were applied here.
  };

  Counts counts() const;

  // A door for tests: it does nothing while it stands still.
  void stand_still(bool still) { still_.store(still, std::memory_order_relaxed); }

 private:
  struct Lane {
    explicit Lane(std::uint32_t ring_events) : ring(ring_events) {}

    EventRing ring;
    bool full = false;
  };

  EventRing& ring(std::uint32_t lane) const { return lanes_[lane - first_]->ring; }

  void take(Lane& lane, CopyEvent& event);
  void take_entry(Lane& lane, CopyEvent& event);
  void read(CopyEvent& event);
  void apply(CopyEvent& event);
  void leave(Lane& lane, CopyEvent& event);
  void fail(Status status);

  Environment env_;
  std::uint32_t first_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  CommandReassembler commands_;
  MappedColumn<std::uint64_t> applied_;       // By shard: the newest entry,
  MappedColumn<std::uint64_t> left_until_;    // events of its lane before which nothing is applied,
  MappedColumn<std::uint8_t> left_for_good_;  // and whether all of it is left.
  std::vector<locks::LockEvent> room_;
  // On lines of memory of their own: what the loop says, the failure that it looks for at each
  // event, and what changes with each event.
  alignas(64) std::atomic<std::uint64_t> now_{0};
  std::atomic<bool> leaves_all_{false};
  std::atomic<bool> still_{false};
  alignas(64) std::atomic<bool> failed_{false};
  Status failure_;  // Before failed_, and never after it.
  alignas(64) std::atomic<std::uint64_t> ahead_most_{0};
  std::atomic<std::uint64_t> full_{0};
  std::atomic<std::uint64_t> applied_count_{0};
};

}  // namespace gcoord::server
