// Many simulated worlds, each in a process of its own, so that an assertion that fails, a crash or
// an endless loop is a finding like any other. Blocking; for programs.
#pragma once

#include "chaos/world/world.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gcoord::chaos {

struct WorldTotals {
  std::uint64_t seeds = 0;
  std::uint64_t violations = 0;
  std::uint64_t undecided = 0;
  std::uint64_t replays = 0;
  std::uint64_t replays_unequal = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t operations = 0;
  std::uint64_t weak_reads = 0;
  std::uint64_t quorum_reads = 0;
  std::uint64_t lost = 0;
  SessionTally sessions;
  std::uint64_t simulated_ms = 0;
  std::uint64_t led_ms_max = 0;
  std::uint64_t steps_checked = 0;
  FaultCounts faults{};
  PowerCounts power{};
  double wall_s = 0;
};

struct WorldPlan {
  std::uint64_t first = 1;
  std::uint64_t seeds = 100;
  std::uint32_t jobs = 1;
  std::uint64_t replay_every = 100;  // Every n-th seed runs twice; 0: none.
  std::chrono::seconds time_max{0};  // No seed begins after it; 0: all do.
  Mutant mutant = Mutant::None;
  bool stop_at_failure = false;
  // The world of each number.
  std::function<WorldOptions(std::uint64_t)> make_world = [](std::uint64_t seed) {
    return world_of_seed(seed);
  };
  // Asked after each world: true, and no other begins.
  std::function<bool(const WorldTotals&)> enough;
};

// Told of each seed that failed, as it ends.
using OnFailedWorld = std::function<void(const WorldOptions&, const WorldResult&)>;

WorldTotals run_worlds(const WorldPlan& plan, const OnFailedWorld& on_failed);

// Whether worlds can have such a device. Asks in a process of its own: one that has asked a driver
// may not fork.
Status check_device(server::DeviceChoice device);

// "cpu", "twin" or "cuda:0".
std::string device_text(server::DeviceChoice device);

// One world in a process of its own.
WorldResult run_apart(const WorldOptions& options);

// The smallest world found that still fails: fewer classes, a shorter run, fewer nodes and clients.
// Runs the world at most `tries` times.
WorldOptions minimise(WorldOptions options, std::uint32_t tries);

// As arguments of `chaos replay`, and back from a list of names.
std::string replay_arguments(const WorldOptions& options);
Result<WorldOptions> parse_replay(const std::string& arguments);
Result<FaultMask> parse_faults(std::string_view names);

}  // namespace gcoord::chaos
