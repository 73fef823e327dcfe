// The parts of one node's lock tables, each with a run of neighbouring shards.
//
// Why: commands of different parts can be applied by different threads. A part is held while it is
// looked at or changed, and a Hold says for how long; with one part there is nothing to hold, and
// one thread has all of it. Where several parts are held together, that is done by one thread only,
// the node's loop, so nobody waits in a circle.
// Rows that leave the node's tables are numbered through all parts: row k of part p is
// (k - 1) * parts + p + 1, and 0 is none. With one part they are the part's own.
// Host only; thread-safe.
#pragma once

#include "common/host/short_mutex.h"
#include "common/ids.h"
#include "common/tables/mapped_column.h"
#include "locks/cpu/held_lock.h"
#include "locks/cpu/part.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gcoord::locks {

class LockParts {
 public:
  explicit LockParts(const LockOptions& options);

  // A part, for as long as this lives.
  class Hold {
   public:
    LockPart* operator->() const { return part_; }

    LockPart& operator*() const { return *part_; }

    std::uint32_t number() const { return number_; }

   private:
    friend class LockParts;

    Hold(ShortMutex* mutex, LockPart& part, std::uint32_t number)
        : held_(mutex), part_(&part), number_(number) {}

    ShortMutex::Held held_;
    LockPart* part_;
    std::uint32_t number_;
  };

  std::uint32_t count() const { return static_cast<std::uint32_t>(parts_.size()); }

  std::uint32_t number_of(ShardId shard) const {
    return count() == 1 ? 0 : shard.value / part_shards_;
  }

  Hold of(ShardId shard) const { return at(number_of(shard)); }

  Hold at(std::uint32_t number) const {
    Part& part = *parts_[number];
    return Hold{count() == 1 ? nullptr : &part.mutex, part.part, number};
  }

  // The part of a row that left these tables.
  template <typename Row>
  Hold of_row(Row outside) const {
    return at((outside.value - 1) % count());
  }

  // The number of such a row in its part, and of a part's row outside.
  template <typename Row>
  Row inside(Row outside) const {
    return outside.value == 0 ? Row{} : Row{(outside.value - 1) / count() + 1};
  }

  template <typename Row>
  Row outside(std::uint32_t number, Row inside) const {
    return inside.value == 0 ? Row{} : Row{(inside.value - 1) * count() + number + 1};
  }

  // The one part, of one thread; nullptr: there are several.
  LockPart* only() const { return count() == 1 ? &parts_.front()->part : nullptr; }

  // Says what the part has taken, before it is let go.
  void note_counts(const Hold& hold) const;

  // The index of the newest command of the shard that was applied since its state came whole; 0:
  // none, or there is one part, whose caller knows it.
  void note_applied(const Hold& hold, ShardId shard, LogIndex index) const;
  LogIndex applied(const Hold& hold, ShardId shard) const;

  // What all parts have taken, as each said it last.
  LockCounts counts() const;

  // What all parts remember of sessions that are over; nullptr with one part.
  const sessions::OverSessions* over() const { return over_.get(); }

 private:
  struct Part {
    Part(const LockOptions& options, std::shared_ptr<sessions::OverSessions> shared)
        : part(options, shared) {
      if (shared != nullptr) {
        applied.resize(options.shard_count);
      }
    }

    ShortMutex mutex;
    LockPart part;
    std::atomic<std::uint64_t> locks{0};
    std::atomic<std::uint64_t> waiters{0};
    std::atomic<std::uint64_t> sessions{0};
    std::atomic<std::uint64_t> requests{0};
    MappedColumn<std::uint64_t> applied;  // By shard; a page that nobody wrote costs nothing.
  };

  std::uint32_t part_shards_;
  std::shared_ptr<sessions::OverSessions> over_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace gcoord::locks
