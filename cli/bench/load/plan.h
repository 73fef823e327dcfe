// Options of one run of an open loop. Plain values.
#pragma once

#include "cli/bench/load/key_choice.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace gcoord::cli {

struct BenchPlan {
  std::string operation;          // "lock", "lease", "elect", "watch" or "read".
  std::string load;               // "s" to "xl"; empty: rate and clients are the user's.
  std::uint32_t rate = 1000;      // Operations due per second.
  std::uint32_t clients = 50;     // Each with a session of its own, and one operation at a time.
  std::uint32_t connections = 4;  // Shared by the clients.
  std::uint32_t threads = 1;      // That begin the operations.
  std::uint32_t keys = 1000;      // Names that operations are about.
  Distribution distribution = Distribution::Uniform;
  std::chrono::milliseconds length{10'000};
  std::chrono::milliseconds ttl{10'000};     // Of sessions and leases.
  std::chrono::milliseconds timeout{5'000};  // Of one request.
};

}  // namespace gcoord::cli
