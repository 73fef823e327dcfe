// One measured run of a poll set, with its figures as JSON.
//
// CUDA builds only; one thread.
#pragma once

#include "common/json/value.h"
#include "common/status.h"
#include "netcore/memory/registry.h"

#include <cstdint>
#include <vector>

namespace gcoord::bench {

struct PollSetup {
  std::vector<std::uint32_t> devices = {0};  // Who sends, and who waits; one: both.
  std::uint32_t lanes = 1;
  std::uint64_t slots = 0;  // There and back one at a time, or per lane.
};

// Slots there and back, one at a time on a lane drawn by lot, past a warp that waits for all lanes.
Result<Json> measure_poll_echo(const PollSetup& setup);

// A stream on every lane to one warp that waits for all of them.
Result<Json> measure_poll_rate(const PollSetup& setup);

struct WakeSetup {
  std::uint32_t device = 0;
  std::uint32_t words = 1;  // That the kernel waits for; one at a time is raised.
  std::uint32_t raises = 0;
  bool alone = false;                                       // One thread waits, not a warp.
  netcore::MemoryKind kind = netcore::MemoryKind::Private;  // Where the words lie.
};

// From a host thread's raise of a word, past the kernel that waits for it and rings a bell, until
// the thread, asleep in poll(2), is awake.
Result<Json> measure_wake(const WakeSetup& setup);

}  // namespace gcoord::bench
