// The sweep of a client's connection: closes it where nothing moves on it, because it never said
// Hello, idles with nothing outstanding, does not read its replies, or does not end a frame.
//
// docs/reference/limits.md has the numbers. On the loop's thread.
#pragma once

#include "server/endpoints/connection.h"

#include <cstdint>

namespace gcoord::server {

struct SweepLimits {
  // From accept to Hello, and to the proof of an operator on a place that is kept for those. A
  // client sends it at once, so this only bounds the half-open.
  std::uint64_t hello_ms = 5'000;
  // With nothing outstanding. Clients with sessions speak every third of a TTL.
  std::uint64_t idle_ms = 600'000;
  // Unsent bytes that do not move.
  std::uint64_t blocked_ms = 10'000;
  // From the first byte of a frame to its last: 1 MiB at 35 kB/s.
  std::uint64_t frame_ms = 30'000;
};

// About every second, with an open connection: notes what has moved since the last sweep, gives
// memory back, and closes the connection where a limit is passed.
void sweep_connection(Connection& connection, const SweepLimits& limits, std::uint64_t now_ms);

}  // namespace gcoord::server
