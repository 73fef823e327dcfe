#include "bench/locks/sweeps.h"

#include "bench/cluster/device_name.h"
#include "bench/locks/filled_clock.h"
#include "bench/locks/node_sweeps.h"
#include "bench/report/results_file.h"
#include "common/random.h"
#include "sessions/sweep.h"
#include "sessions/wait_graph_search.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::bench {

namespace {

using sessions::WaitEdge;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMillion = 1u << 20;
constexpr std::uint32_t kSessionCounts[] = {kMillion, 8 * kMillion};
constexpr std::uint32_t kBatch = 4 * kMillion;  // Keep-alives of one launch.
constexpr std::uint32_t kRounds = 21;           // The first is not timed.
constexpr std::uint64_t kTtlTicks = kTtlMs / 10 + 1;
constexpr std::uint32_t kCycleLength = 4;

Result<std::unique_ptr<sessions::SweepDevice>> device_of(const BenchOptions& options) {
  if (options.device == "cpu") {
    return sessions::make_host_sweep_device();
  }
  GCOORD_TRY(const int number, device_number(options.device));
  return sessions::make_cuda_sweep_device(number);
}

double us_since(Clock::time_point began) {
  return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
}

Json times(std::vector<double> us) {
  std::ranges::sort(us);
  return {{"us_median", rounded(median(us))},
          {"us_least", rounded(us.front())},
          {"us_most", rounded(us.back())},
          {"calls", us.size()}};
}

// Keep-alives of sessions drawn at random.
Result<std::vector<double>> time_renewals(sessions::SessionSweep& sweep,
                                          std::uint32_t session_count) {
  std::vector<double> us;
  std::vector<sessions::RenewOutcome> outcomes(kBatch);
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    std::vector<SessionId> sessions(kBatch);
    for (std::uint32_t k = 0; k < kBatch; ++k) {
      sessions[k] = session_of(
          1 + static_cast<std::uint32_t>(random64(session_count, round, k) % session_count));
    }
    GCOORD_TRY_STATUS(sweep.take_in(sessions));
    const auto began = Clock::now();
    GCOORD_TRY_STATUS(sweep.renew_taken(Tick{2 + round}));
    us.push_back(us_since(began));
    GCOORD_TRY_STATUS(sweep.outcomes_of_taken(outcomes));
    const bool right = std::ranges::all_of(outcomes, [](const sessions::RenewOutcome& outcome) {
      return outcome.code == sessions::RenewCode::Renewed && outcome.registration_count == 1;
    });
    if (!right) {
      return Status{StatusCode::Internal, "a keep-alive was not answered with Renewed"};
    }
  }
  us.erase(us.begin());
  return us;
}

// Looks at all deadlines: when nobody is due, and when one row of a thousand is.
Result<Json> time_scans(sessions::SessionSweep& sweep,
                        sessions::SessionClock& clock,
                        std::uint32_t session_count) {
  std::vector<double> us;
  for (std::uint32_t round = 0; round < 10 * kRounds; ++round) {
    const auto began = Clock::now();
    GCOORD_TRY(const bool any, sweep.any_due(Tick{1}));
    us.push_back(us_since(began));
    if (any) {
      return Status{StatusCode::Internal, "a session ran out that was heard"};
    }
  }
  us.erase(us.begin());
  GCOORD_TRY_STATUS(sweep.store(clock));
  const sessions::SessionColumns columns = clock.columns();
  const std::size_t wanted = session_count / 1000;
  for (std::size_t k = 0; k < wanted; ++k) {
    columns.deadline[1 + 1000 * k] = Tick{1};
  }
  GCOORD_TRY_STATUS(sweep.load(clock));
  std::vector<sessions::ExpiryProposal> due(2 * wanted);
  const auto began = Clock::now();
  GCOORD_TRY(const std::size_t count, sweep.expired(Tick{1}, due));
  const double taking_us = us_since(began);
  if (count != wanted) {
    return Status{StatusCode::Internal, "the sweep did not find who ran out"};
  }
  Json result = times(us);
  result["rows"] = session_count;
  result["with_one_in_a_thousand_due_us"] = rounded(taking_us);
  return result;
}

Result<Json> measure_sessions(sessions::SweepDevice& device, std::uint32_t session_count) {
  const auto clock = filled_clock(session_count);
  sessions::SessionSweep sweep(device);
  GCOORD_TRY_STATUS(sweep.load(*clock));
  GCOORD_TRY(const std::vector<double> us, time_renewals(sweep, session_count));
  GCOORD_TRY_STATUS(sweep.store(*clock));
  const sessions::SessionColumns columns = clock->columns();
  for (std::uint32_t row = 1; row <= session_count; ++row) {
    if (columns.deadline[row] != columns.heard[row] + kTtlTicks) {
      return Status{StatusCode::Internal, "a deadline is not a TTL after what was heard"};
    }
  }
  Json renewals = times(us);
  renewals["sessions"] = session_count;
  renewals["keep_alives_per_call"] = kBatch;
  renewals["renewals_per_s"] = rounded(kBatch / (median(us) / 1e6));
  GCOORD_TRY(const Json scans, time_scans(sweep, *clock, session_count));
  return Json{{"renewals", renewals}, {"expiry_scan", scans}};
}

struct Waits {
  const char* shape;
  std::vector<WaitEdge> edges;
  std::vector<std::uint8_t> any;
  std::size_t on_cycle = 0;
};

// Every session waits for one lock; holders hold some and wait for nobody, but for those in the
// cycles that are planted.
Waits queues(std::uint32_t cycle_count) {
  Waits waits{.shape =
                  cycle_count == 0 ? "queues, no deadlock" : "queues, 1,000 deadlocks of four"};
  waits.any.resize(kMillion + kMillion / 16);
  for (std::uint32_t k = 0; k < kMillion; ++k) {
    waits.edges.push_back(
        {k, kMillion + static_cast<std::uint32_t>(random64(5, 1, k) >> 32) % (kMillion / 16)});
  }
  for (std::uint32_t k = 0; k < cycle_count * kCycleLength; ++k) {
    const std::uint32_t first = k / kCycleLength * kCycleLength;
    waits.edges[k * 7].to = (first + (k + 1) % kCycleLength) * 7;
  }
  waits.on_cycle = std::size_t{cycle_count} * kCycleLength;
  return waits;
}

// Two locks each, wanted from sessions of lower numbers: as deep as chance makes it.
Waits random_order() {
  Waits waits{.shape = "random order, two edges each, some wait for any, no deadlock"};
  waits.any.resize(kMillion / 2);
  for (std::uint32_t k = 2; k < kMillion / 2; ++k) {
    waits.any[k] = k % 8 == 0 ? 1 : 0;
    for (std::uint32_t edge = 0; edge < 2; ++edge) {
      waits.edges.push_back({k, static_cast<std::uint32_t>(random64(6, k, edge) % k)});
    }
  }
  return waits;
}

// One deadlock of all: the worst that pointers can meet.
Waits one_ring() {
  Waits waits{.shape = "one deadlock of a million"};
  waits.any.resize(kMillion);
  for (std::uint32_t k = 0; k < kMillion; ++k) {
    waits.edges.push_back({k, (k + 1) % kMillion});
  }
  waits.on_cycle = kMillion;
  return waits;
}

Result<Json> measure_graph(sessions::SweepDevice& device, const Waits& waits) {
  sessions::WaitGraphSearch search(device);
  std::vector<double> us;
  std::uint32_t rounds = 0;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    GCOORD_TRY_STATUS(search.load(waits.edges, waits.any));
    const auto began = Clock::now();
    GCOORD_TRY(const sessions::WaitCycles found, search.search());
    us.push_back(us_since(began));
    rounds = found.rounds;
    if (!found.settled || found.on_cycle.size() != waits.on_cycle) {
      return Status{StatusCode::Internal, "not the deadlocks that are there"};
    }
  }
  us.erase(us.begin());
  Json result{{"shape", waits.shape},
              {"edges", waits.edges.size()},
              {"vertices", waits.any.size()},
              {"vertices_on_cycles", waits.on_cycle},
              {"rounds_asked_for", rounds}};
  merge_members(result, times(us));
  return result;
}

}  // namespace

BenchResult bench_sweeps(const BenchOptions& options) {
  GCOORD_TRY(const auto device, device_of(options));
  Json result{{"device", options.device}, {"acknowledged", "nothing: columns in memory, one node"}};
  for (const std::uint32_t session_count : kSessionCounts) {
    GCOORD_TRY(const Json one, measure_sessions(*device, session_count));
    std::fprintf(stderr, "sweeps: %s\n", one.dump().c_str());
    result["sessions"].push_back(one);
  }
  for (const Waits& waits : {queues(0), queues(1000), random_order(), one_ring()}) {
    GCOORD_TRY(const Json one, measure_graph(*device, waits));
    std::fprintf(stderr, "sweeps: %s\n", one.dump().c_str());
    result["deadlock_scans"].push_back(one);
  }
  GCOORD_TRY(result["from_the_host_and_back"], measure_node_sweeps(*device));
  return result;
}

}  // namespace gcoord::bench
