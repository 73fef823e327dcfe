// Asks for the memory of sessions that are about to be looked at, where one thread has all tables.
//
// Of tables in several parts, which other threads change, it does nothing: what is asked for ahead
// of time has to be held, too. As long as nothing is registered or removed. One thread.
#pragma once

#include "locks/cpu/lock_cpu.h"
#include "locks/state/session_prefetch.h"

namespace gcoord::server {

class SessionsAhead {
 public:
  explicit SessionsAhead(locks::LockCpu& locks) {
    if (sessions::SessionClock* const clock = locks.clock().only()) {
      tables_ = &locks.tables();
      columns_ = clock->columns();
    }
  }

  void want_times(sessions::SessionRow row) const {
    if (tables_ != nullptr) {
      locks::prefetch_times(columns_, row);
    }
  }

  void want_record(sessions::SessionRow row) const {
    if (tables_ != nullptr) {
      prefetch(&tables_->sessions[row]);
    }
  }

  void want_index(ShardId shard, SessionId session) const {
    if (tables_ != nullptr) {
      locks::prefetch_session_index(*tables_, shard, session);
    }
  }

  void want_session(ShardId shard, SessionId session) const {
    if (tables_ != nullptr) {
      locks::prefetch_session(*tables_, columns_, shard, session);
    }
  }

 private:
  const locks::LockTables* tables_ = nullptr;
  sessions::SessionColumns columns_;
};

}  // namespace gcoord::server
