// Sessions as other systems have leases: granted with an id, shown, listed, counted.
//
// A granted session is registered in its home shard at once, and lives there for its TTL after the
// last keep-alive, whether it holds a lock or not. One that Client::open_session made is registered
// where it holds something. Plain values; no thread rules.
#pragma once

#include "gcoord/options.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gcoord::client {

struct GrantOptions {
  std::chrono::milliseconds ttl{10'000};
  // 0: the cluster chooses. Else 1 to 2^48 - 1 (GC6302); one that lives already is GC6301. A retry
  // whose first answer was lost meets itself and says GC6301 too.
  std::uint64_t session_id = 0;
  std::function<void(SessionEvent)> on_event;
  std::function<void(const LostLock&)> on_lost{};  // As SessionOptions::on_lost.
  SessionHealth health{};                          // As SessionOptions::health.
};

struct SessionDescription {
  std::uint64_t session_id = 0;
  bool alive = false;  // It is registered somewhere.
  bool granted = false;
  std::chrono::milliseconds ttl{0};         // As granted.
  std::chrono::milliseconds remaining{-1};  // -1: it is gone.
  std::uint32_t shard_count = 0;            // Where it is registered.
  std::uint32_t lock_count = 0;
  std::vector<std::string> keys;  // Names of its locks, the first 800; of Client::session only.
};

enum class SessionFilter : std::uint8_t {
  All = 0,
  Holding = 1,  // At least one lock.
  Idle = 2,     // None.
};

struct SessionListOptions {
  SessionFilter filter = SessionFilter::All;
  std::chrono::milliseconds remaining_below{std::chrono::milliseconds::max()};
  std::uint32_t limit = 1000;  // Of one page; 1 to 10,000.
  bool count_only = false;
  std::string cursor;  // Of the last page; empty: from the beginning.
};

struct SessionsPage {
  std::vector<SessionDescription> sessions;
  std::uint64_t count = 0;  // Of this page.
  std::string next_cursor;  // Empty: no more. A page may be empty and yet not the last one.
  bool complete = true;     // False: a node did not answer.
};

}  // namespace gcoord::client
