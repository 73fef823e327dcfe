// Client-side record of one session. The first part is read by any thread, the rest belongs to the
// client's own thread.
#pragma once

#include "client/records/held_locks.h"
#include "client/records/lost_locks.h"
#include "client/records/sequence_window.h"
#include "client/records/session_lease.h"
#include "client/records/term_fence.h"
#include "common/ids.h"
#include "gcoord/clock.h"
#include "gcoord/options.h"
#include "protocol/error_codes.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>

namespace gcoord::client {

class SessionChecks;
class SessionNotices;

// The numbers of a session's requests in each shard.
struct ShardWindows {
  struct Window {
    SequenceWindow numbers;
    std::deque<std::uint64_t> behind;  // Request ids that wait for the window to have room.
  };

  std::uint64_t first_sequence = 1;
  std::unordered_map<std::uint32_t, Window> by_shard;

  Window& of(std::uint32_t shard) {
    return by_shard.try_emplace(shard, Window{SequenceWindow{first_sequence}, {}}).first->second;
  }
};

struct SessionRecord {
  SessionId id;
  std::uint32_t ttl_ms = 0;
  bool keep_alive = true;
  bool attached = false;  // Opened by another program, which numbers its requests.
  std::function<void(SessionEvent)> on_event;
  std::function<void(const LostLock&)> on_lost;
  LostLocks lost;
  HeldLocks held;
  TermFences offices;

  // Relaxed: single values that stand for themselves; nothing is published through them.
  std::atomic<std::int64_t> certain_until_ns{0};
  std::atomic<bool> ended{false};  // Lost or closed: nothing may be started in it.

  // A health check of it fails: it is not kept alive and takes on nothing.
  std::atomic<bool> withheld{false};

  // Somebody here holds a lock several times: a release may be one of many.
  std::atomic<bool> counts_holds{false};

  // Of the client's thread from here on.
  protocol::ErrorCode end_reason = protocol::ErrorCode::None;
  std::unique_ptr<SessionLease> lease;  // None when it is not kept alive from here.
  std::size_t operation_count = 0;      // In the OperationTable.
  std::size_t keeper_place = 0;         // Among the sessions that SessionKeeper keeps, if it does.

  std::shared_ptr<SessionChecks> checks;  // Those that it is bound to, if any.

  std::shared_ptr<SessionNotices> notices;  // If somebody takes what happens.

  ShardWindows windows;
};

}  // namespace gcoord::client
