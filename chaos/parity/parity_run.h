// Host and device side by side: the comparison behind gcoord-parity and its tests.
//
// Every turn is given to both worlds, and then every row of every node is compared by its digest;
// the first row that differs is fetched whole and its first differing field named. Replicas of one
// shard that applied the same index must also have the same service, on the host's word. Blocking;
// deterministic but for the device's errors.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <string>

namespace gcoord::chaos {

struct ParityOptions {
  int device = 0;  // -1: the host twin of a device instead.
  std::uint32_t shard_count = 131'072;
  std::uint32_t turns_per_seed = 1200;
  std::uint64_t first_seed = 1;
  std::uint64_t steps_wanted = 1'000'000'000;
  std::uint32_t threads = 1;
};

struct ParityReport {
  std::uint64_t seeds = 0;
  std::uint64_t turns = 0;
  std::uint64_t steps = 0;  // Of one of the two worlds.
  std::uint64_t restarts = 0;
  std::uint64_t cuts = 0;
  std::uint64_t applied = 0;    // Entries applied, over all replicas.
  std::uint64_t leaders = 0;    // At the end of each seed, summed.
  std::uint64_t wide_rows = 0;  // Rows that do not fit 128 bytes at the end of each seed, summed.
  double seconds = 0;
  std::string other;       // What the host was compared with.
  std::string difference;  // Empty: none.
};

// Unavailable: there is no device to compare with.
Result<ParityReport> run_parity(const ParityOptions& options);

std::string to_text(const ParityReport& report, bool json);

}  // namespace gcoord::chaos
