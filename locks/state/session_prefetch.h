// Asks for the memory of sessions that are about to be looked at or ended, so that it is there in
// time.
//
// The end of a session with one lock touches a dozen lines of memory: indexes, its records, its
// neighbours in the shard's list. In a table of a million sessions none of them is in a cache, and
// one end after another waits for each. A list of ends says which sessions come, so their lines can
// be on their way together, in the order in which one leads to the next: index, record, lock, the
// lock's index. Changes nothing and proves nothing: a row may be another session's of the same
// hash. Host only; the tables outlive it and do not change but by the ends themselves.
#pragma once

#include "common/device/prefetch.h"
#include "common/tables/hash_index.h"
#include "locks/commands/ends.h"
#include "locks/state/table.h"
#include "sessions/columns.h"

#include <array>
#include <cstdint>

namespace gcoord::locks {

inline void prefetch_line(const MovingIndex& index, std::uint32_t hash) {
  if (index.current.lines != nullptr) {
    prefetch(&index.current.lines[hash & index.current.mask]);
  }
}

inline void prefetch_session_index(const LockTables& tables, ShardId shard, SessionId session) {
  prefetch_line(tables.session_index, tables.session_hash(shard, session));
}

// The times of a row.
inline void prefetch_times(const sessions::SessionColumns& clock, SessionRow row) {
  prefetch(&clock.cells[row.value]);
  prefetch(&clock.heard[row.value]);
  prefetch(&clock.deadline[row.value]);
}

// The likely row of a registration, whose record and times are asked for; none: it is not there.
inline SessionRow prefetch_session(const LockTables& tables,
                                   const sessions::SessionColumns& clock,
                                   ShardId shard,
                                   SessionId session) {
  const std::uint32_t hash = tables.session_hash(shard, session);
  const SessionRow row{tables.session_index.find(hash, [](std::uint32_t) { return true; })};
  if (row.value != 0) {
    prefetch(&tables.sessions[row]);
    prefetch_times(clock, row);
  }
  return row;
}

class EndsPrefetch {
 public:
  EndsPrefetch(const LockTables& tables,
               const sessions::SessionColumns& clock,
               ShardId shard,
               const LockCommand& list)
      : tables_(tables), clock_(clock), shard_(shard), list_(list), count_(ends_count(list)) {
    for (std::uint32_t i = 0; i < kIndexes; ++i) {
      want_index(i);
    }
    for (std::uint32_t i = 0; i < kRecords; ++i) {
      want_record(i);
    }
    for (std::uint32_t i = 0; i < kHolds; ++i) {
      want_hold(i);
    }
    for (std::uint32_t i = 0; i < kNames; ++i) {
      want_name(i);
    }
  }

  // Before the end at place i is applied.
  void before(std::uint32_t i) {
    want_index(i + kIndexes);
    want_record(i + kRecords);
    want_hold(i + kHolds);
    want_name(i + kNames);
  }

 private:
  // How far ahead: a line of memory takes as long as one end or two.
  static constexpr std::uint32_t kIndexes = 16;
  static constexpr std::uint32_t kRecords = 12;
  static constexpr std::uint32_t kHolds = 8;
  static constexpr std::uint32_t kNames = 4;

  void want_index(std::uint32_t i) const {
    if (i < count_) {
      const SessionId session = session_end(list_, i).session;
      const std::uint32_t hash = sessions::session_clock_hash(session, clock_.index_seed);
      prefetch_session_index(tables_, shard_, session);
      prefetch_line(clock_.first_of_session, hash);
      prefetch_line(clock_.over_index, hash);
    }
  }

  void want_record(std::uint32_t i) {
    if (i < count_) {
      rows_[i] = prefetch_session(tables_, clock_, shard_, session_end(list_, i).session);
    }
  }

  void want_hold(std::uint32_t i) const {
    if (i >= count_ || rows_[i].value == 0) {
      return;
    }
    const SessionRecord& session = tables_.sessions[rows_[i]];
    want(tables_.sessions, session.shard_next);
    want(tables_.sessions, session.shard_previous);
    want(tables_.locks, session.hold_first);
    want(tables_.requests, session.request_oldest);
  }

  void want_name(std::uint32_t i) const {
    if (i >= count_ || rows_[i].value == 0) {
      return;
    }
    const LockRow row = tables_.sessions[rows_[i]].hold_first;
    if (is_row(tables_.locks, row)) {
      const LockRecord& lock = tables_.locks[row];
      prefetch_line(tables_.lock_index, tables_.lock_hash(lock.shard, lock.name_hash));
      if (!is_marked(lock)) {
        want(tables_.name_blocks, lock.name_first);
      }
    }
  }

  // An end before this one may have given the record back, and then it says anything.
  template <typename Pool, typename Row>
  static bool is_row(const Pool& pool, Row row) {
    return row.value - 1 < pool.capacity;
  }

  template <typename Pool, typename Row>
  static void want(const Pool& pool, Row row) {
    if (is_row(pool, row)) {
      prefetch(&pool[row]);
    }
  }

  const LockTables& tables_;
  const sessions::SessionColumns clock_;
  const ShardId shard_;
  const LockCommand& list_;
  const std::uint32_t count_;
  std::array<SessionRow, kEndsMax> rows_{};
};

}  // namespace gcoord::locks
