#include "bench/step/step_device.h"

#include "bench/report/results_file.h"
#include "chaos/parity/drive.h"
#include "chaos/parity/world.h"
#include "common/device/device_arena.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace gcoord::bench {

namespace {

using chaos::kResidentNodes;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kLiveTurns = 10;      // Until every node has heard every other.
constexpr std::uint32_t kElectionTurns = 40;  // From the first campaigns to applied no-ops.
constexpr std::uint32_t kSettleTurns = 300;   // Until nobody has anything left to say.
constexpr std::uint32_t kSampleTurns = 50;    // Turns of one timing.
constexpr std::uint32_t kTimings = 9;         // Timings of one figure; the median is reported.
constexpr std::uint32_t kLogSlots = 256;      // A page of 4 KiB per replica.
constexpr std::uint32_t kPipelineTurns = 4;   // Turns from a proposal to its commit.

// One cluster and what drives it.
class Cluster {
 public:
  static Result<Cluster> make(int device, std::uint32_t shards, std::uint32_t batch) {
    // One row in 64 may be exceptional at once; elections of plain configurations are not.
    const chaos::ResidentShape shape{
        .shard_count = shards, .ages = 2, .log_slots = kLogSlots, .entries_max = batch};
    GCOORD_TRY(auto world, chaos::make_device_world(device, shape, shards / 64 + 32));
    Cluster cluster(std::move(world), shards, batch);
    GCOORD_TRY_STATUS(cluster.elect());
    return cluster;
  }

  // Leaders are offered `batch` commands in every turn from now on, or none. Every row is woken
  // once, so that leaders at rest hear of it.
  Status feed(bool fed) {
    constexpr std::uint32_t kAlways = 1u << 16;
    drive_.rates().fed = fed ? 1 : 0;
    drive_.rates().proposal_count = batch_;
    drive_.rates().wake = kAlways;
    GCOORD_TRY_STATUS(turns(1));
    drive_.rates().wake = 0;
    return turns(kElectionTurns);
  }

  Status turns(std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      GCOORD_TRY_STATUS(world_->run(drive_.next()));
    }
    return world_->finish();
  }

  // Median time of a turn, in microseconds, turns being queued back to back.
  Result<double> turn_us() {
    std::vector<double> timings;
    for (std::uint32_t k = 0; k < kTimings; ++k) {
      const auto began = Clock::now();
      GCOORD_TRY_STATUS(turns(kSampleTurns));
      const std::chrono::duration<double, std::micro> took = Clock::now() - began;
      timings.push_back(took.count() / kSampleTurns);
    }
    return median(std::move(timings));
  }

  Result<std::uint64_t> steps() { return world_->steps(); }

  // Commands applied by the slowest replica of each shard, summed; also checks that the replicas
  // that applied the same index agree on the result.
  Result<std::uint64_t> applied() {
    std::vector<chaos::Service> service[kResidentNodes];
    for (std::uint32_t node = 0; node < kResidentNodes; ++node) {
      GCOORD_TRY_STATUS(world_->services(node, service[node]));
    }
    std::uint64_t sum = 0;
    for (std::uint32_t row = 0; row < shards_; ++row) {
      LogIndex least = service[0][row].index;
      for (std::uint32_t node = 1; node < kResidentNodes; ++node) {
        const chaos::Service& one = service[node][row];
        least = min_id(least, one.index);
        if (one.index == service[0][row].index && one.digest != service[0][row].digest) {
          return Status{
              StatusCode::Internal,
              "replicas of shard " + std::to_string(row) + " differ in what they applied"};
        }
      }
      sum += least.value;
    }
    return sum;
  }

  chaos::ResidentMemory memory() const { return world_->memory(); }

 private:
  Cluster(std::unique_ptr<chaos::ResidentWorld> world, std::uint32_t shards, std::uint32_t batch)
      : shards_(shards), batch_(batch), world_(std::move(world)), drive_(drive_options(batch)) {}

  static chaos::ResidentDriveOptions drive_options(std::uint32_t batch) {
    chaos::ResidentDriveOptions options = chaos::quiet_drive(/*seed=*/20260801, batch);
    options.limits.uncommitted_entries = kLogSlots / 4;
    return options;
  }

  Status elect() {
    GCOORD_TRY_STATUS(turns(kLiveTurns));
    drive_.rates().first_leaders = 1;
    GCOORD_TRY_STATUS(turns(1));
    drive_.rates().first_leaders = 0;
    GCOORD_TRY_STATUS(turns(kElectionTurns));
    GCOORD_TRY(const std::uint64_t noops, applied());
    return noops == shards_ ? Status{}
                            : Status{StatusCode::Internal,
                                     std::to_string(noops) + " of " + std::to_string(shards_) +
                                         " shards applied their leader's first entry"};
  }

  std::uint32_t shards_;
  std::uint32_t batch_;
  std::unique_ptr<chaos::ResidentWorld> world_;
  chaos::ResidentDrive drive_;
};

// A turn in which nobody has anything to do.
Result<Json> measure_idle(Cluster& cluster, std::uint32_t shards) {
  GCOORD_TRY_STATUS(cluster.feed(false));
  GCOORD_TRY_STATUS(cluster.turns(kSettleTurns));
  GCOORD_TRY(const std::uint64_t before, cluster.steps());
  GCOORD_TRY(const double turn_us, cluster.turn_us());
  GCOORD_TRY(const std::uint64_t after, cluster.steps());
  std::fprintf(stderr, "  %u shards x 3 at rest: %.2f us per turn\n", shards, turn_us);
  return Json{{"shards", shards},
              {"rows", kResidentNodes * std::uint64_t{shards}},
              {"rows_stepped", after - before},
              {"turn_us", rounded(turn_us)}};
}

// Every leader takes `batch` commands and sends them to both followers; every follower answers.
Result<Json> measure_busy(Cluster& cluster, std::uint32_t shards, std::uint32_t batch) {
  GCOORD_TRY_STATUS(cluster.feed(true));
  GCOORD_TRY(const std::uint64_t steps_before, cluster.steps());
  GCOORD_TRY(const std::uint64_t applied_before, cluster.applied());
  GCOORD_TRY(const double turn_us, cluster.turn_us());
  GCOORD_TRY(const std::uint64_t steps_after, cluster.steps());
  GCOORD_TRY(const std::uint64_t applied_after, cluster.applied());
  constexpr double kTurns = kTimings * kSampleTurns;
  const double applied = static_cast<double>(applied_after - applied_before) / kTurns;
  const double steps = static_cast<double>(steps_after - steps_before) / kTurns;
  const double commands_per_s = applied / turn_us * 1e6;
  std::fprintf(stderr,
               "  %u shards x 3, %u commands per shard and turn: %.1f us per turn, %.2f G steps/s, "
               "%.0f M commands/s\n",
               shards,
               batch,
               turn_us,
               steps / turn_us / 1e3,
               commands_per_s / 1e6);
  return Json{{"shards", shards},
              {"rows", kResidentNodes * std::uint64_t{shards}},
              {"active_shards", shards},
              {"commands_per_shard_and_turn", batch},
              {"rows_stepped_per_turn", rounded(steps)},
              {"turn_us", rounded(turn_us)},
              {"steps_per_s", rounded(steps / turn_us * 1e6)},
              {"commands_per_s", rounded(commands_per_s)},
              {"commit_latency_us", rounded(kPipelineTurns * turn_us)}};
}

Json memory_of(const chaos::ResidentMemory& memory, std::uint32_t shards) {
  const double replicas = double{kResidentNodes} * shards;
  const auto per_replica = [&](std::size_t bytes) {
    return rounded(static_cast<double>(bytes) / replicas);
  };
  return {{"row_and_flags", per_replica(memory.row_bytes)},
          {"pool_for_exceptional_rows", per_replica(memory.wide_bytes)},
          {"messages_of_active_rows", per_replica(memory.outgoing_bytes)},
          {"log_page_and_service", per_replica(memory.log_bytes)}};
}

Result<Json> measure_size(int device, std::uint32_t shards, Json& memory) {
  Json busy = Json::array();
  Json idle;
  for (const std::uint32_t batch : {1u, 4u, 16u}) {
    GCOORD_TRY(Cluster cluster, Cluster::make(device, shards, batch));
    if (batch == 1) {
      GCOORD_TRY(idle, measure_idle(cluster, shards));
      memory = memory_of(cluster.memory(), shards);
    }
    GCOORD_TRY(const Json one, measure_busy(cluster, shards, batch));
    busy.push_back(one);
  }
  return Json{{"idle", idle}, {"busy", busy}};
}

}  // namespace

BenchResult bench_step_on_device(const BenchOptions& options, int device) {
  GCOORD_TRY_STATUS(probe_device(device));
  const std::uint32_t million_rows = (1u << 20) / kResidentNodes;
  std::vector<std::uint32_t> sizes{100'000, million_rows, options.shards};
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  Json runs = Json::array();
  Json memory;
  for (const std::uint32_t shards : sizes) {
    GCOORD_TRY(const Json run, measure_size(device, shards, memory));
    runs.push_back(run);
  }
  return Json{{"stepper", "cuda:" + std::to_string(device)},
              {"device", describe_device(device)},
              {"replicas", kResidentNodes},
              {"hosts", 1},
              {"power_domains", 1},
              {"durability",
               "memory: acknowledged to the leader's row once the command is in the log pages "
               "of two of three replica tables on one device"},
              {"commands",
               "16 random bytes each, made on the device, copied through the outboxes, hashed "
               "by all three services"},
              {"method", "median of 9 timings of 50 turns queued back to back, host clock"},
              {"bytes_per_replica", memory},
              {"runs", runs}};
}

}  // namespace gcoord::bench
