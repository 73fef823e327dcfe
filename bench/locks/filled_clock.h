// A session clock of many sessions with one registration each, for the benchmarks of sweeps.
#pragma once

#include "common/random.h"
#include "sessions/clock.h"

#include <cstdint>
#include <memory>

namespace gcoord::bench {

inline constexpr std::uint32_t kTtlMs = 10'000;

// No two rows of one session: a session of a client holds locks in one shard or few.
inline SessionId session_of(std::uint32_t row) {
  return SessionId{mix64(row) | 1};
}

// All of them led here, and heard at tick 1.
inline std::unique_ptr<sessions::SessionClock> filled_clock(std::uint32_t session_count) {
  auto clock = std::make_unique<sessions::SessionClock>(
      sessions::SessionClockOptions{.tick_ms = 10, .index_seed = 20261122});
  clock->reserve(session_count);
  for (std::uint32_t row = 1; row <= session_count; ++row) {
    clock->on_registered({.row = sessions::SessionRow{row},
                          .shard = ShardId{row % 65'536},
                          .session = session_of(row),
                          .serial = row,
                          .ttl_ms = kTtlMs},
                         Tick{1},
                         true);
  }
  return clock;
}

}  // namespace gcoord::bench
