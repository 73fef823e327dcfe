// Carries out the strikes of a live run: injects, holds, heals, waits until the cluster is whole
// again, and notes in the run's result what was done, what came of it and how long that took.
//
// Whole is a leader in every shard within three election timeouts, and every node that lost what it
// had at full strength within 30 s; only then is the window of a strike over. Blocking,
// talks on stdout. One thread.
#pragma once

#include "chaos/demo/interrupt.h"
#include "chaos/live/fault.h"
#include "chaos/live/live_result.h"
#include "chaos/live/live_world.h"
#include "chaos/process/cluster_watch.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::chaos {

struct StrikeOptions {
  const std::vector<FaultClass>& classes;
  std::uint64_t seed = 1;
  std::chrono::steady_clock::time_point began;  // What progress is told from.
  const Interrupt& interrupt;
};

class Strikes {
 public:
  // What is lent outlives this object.
  Strikes(LiveWorld world, const StrikeOptions& options, LiveResult& result);

  // The classes of these indices together, as the `number`-th strike of the run. A fault that did
  // not hold what it must is in the result; an error is that the run cannot go on.
  Status strike(const std::vector<std::size_t>& which, std::uint32_t number);

 private:
  using Clock = std::chrono::steady_clock;
  using Records = std::vector<std::size_t>;  // Of this strike, in the result.

  struct Struck {
    std::vector<std::unique_ptr<Fault>> faults;
    Records records;
    std::chrono::milliseconds hold{0};
  };

  void inject(std::size_t index, Draw draw, std::uint32_t number, Struck& struck);
  void heal(Fault& fault, StrikeRecord& record);
  void fail(StrikeRecord& record, const Status& status);
  Status await_leaders(const Records& records);
  Status restart_the_fallen(StrikeRecord& record);
  void await_full_strength(std::size_t index, const Records& records, Clock::time_point healing);
  void discard_damaged(std::uint32_t node);
  std::vector<std::uint32_t> all_nodes() const;

  LiveWorld world_;
  StrikeOptions options_;
  LiveResult& result_;
};

}  // namespace gcoord::chaos
