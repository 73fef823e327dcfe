#include "bench/turn/turn_run.h"

#include "bench/cluster/device_list.h"
#include "bench/report/results_file.h"
#include "chaos/device_turn/turn_launch.h"
#include "netcore/device/gpu_device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string>

namespace gcoord::bench {
namespace {

using server::kTurnNodes;
using Clock = std::chrono::steady_clock;

// No measurement is as long; a kernel that is forgotten ends then.
constexpr std::uint64_t kLifeNs = 20'000'000'000;
constexpr std::uint32_t kElectionMsMax = 3000;
constexpr std::uint32_t kRestMsMax = 3000;

}  // namespace

void wait_ms(std::uint32_t milliseconds) {
  const auto until = Clock::now() + std::chrono::milliseconds{milliseconds};
  while (Clock::now() < until) {
  }
}

Result<TurnDevices> devices_of(const std::string& text) {
  GCOORD_TRY(const std::vector<std::uint32_t> named, listed_devices(text, kTurnNodes));
  TurnDevices devices{};
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    devices[n] = static_cast<int>(named[n % named.size()]);
  }
  return devices;
}

std::uint32_t crowd_of(const TurnDevices& devices) {
  std::ptrdiff_t crowd = 1;
  for (const int device : devices) {
    crowd = std::max(crowd, std::count(devices.begin(), devices.end(), device));
  }
  return static_cast<std::uint32_t>(crowd);
}

Result<std::uint32_t> stripes_for(const TurnDevices& devices, std::uint32_t hash_processors) {
  std::uint32_t room = 0;
  if (chaos::load_turns() != cudaSuccess ||
      chaos::turn_blocks(kBlockStripes, room) != cudaSuccess) {
    return Status{StatusCode::Unavailable, "no device answers"};
  }
  const std::uint32_t each = room / crowd_of(devices);
  if (each < hash_processors + 2) {  // One of them has the clock.
    return Status{StatusCode::ResourceExhausted, "no room on a device for the turns of its nodes"};
  }
  return (each - hash_processors - 1) * kBlockStripes;
}

chaos::TurnClusterOptions options_for(std::uint32_t shards, std::uint32_t stripes) {
  chaos::TurnClusterOptions options;
  options.shape = {.shard_count = shards,
                   .stripe_count = stripes,
                   .block_stripes = stripes > 1 ? kBlockStripes : 1,
                   .log_slots = 64,
                   .entries_max = 16,
                   .wide_count = shards / 64 + 64};
  options.timing.tick_ns = kTickNs;
  options.timing.timing = {
      .election_ticks = 500, .resend_ticks = 50, .stagger_ticks = 20, .lease_margin_ticks = 10};
  options.timing.limits = {.window_entries = 32, .uncommitted_entries = 32, .message_entries = 16};
  // Until all nodes have heard each other nobody campaigns, so that every node leads its third.
  options.timing.vote_after = Tick{500};
  options.clients = false;
  options.seed = 20261121;
  return options;
}

Result<Json> counts_of(TurnRun& run) {
  Json nodes = Json::array();
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    GCOORD_TRY(const chaos::NodeCounts counts, run.cluster().counts(n));
    const server::StripeCounts& sum = counts.sum;
    const auto per_turn = [&](std::uint64_t total) {
      return rounded(static_cast<double>(total) /
                     static_cast<double>(std::max<std::uint64_t>(sum.turns, 1)));
    };
    nodes.push_back({{"led", sum.led},
                     {"turns", sum.turns},
                     {"intake_ns_per_turn", per_turn(sum.intake_ns)},
                     {"step_ns_per_turn", per_turn(sum.step_ns)},
                     {"send_ns_per_turn", per_turn(sum.send_ns)},
                     {"rows_per_turn", per_turn(sum.steps)},
                     {"steps", sum.steps},
                     {"applied", sum.applied},
                     {"stalled", sum.stalled},
                     {"held", sum.held},
                     {"dropped", sum.dropped},
                     {"unsent", sum.unsent},
                     {"lost", sum.lost}});
  }
  return nodes;
}

Result<std::unique_ptr<TurnRun>> TurnRun::start(const chaos::TurnClusterOptions& options,
                                                const TurnDevices& devices) {
  std::unique_ptr<TurnRun> run{new TurnRun};
  GCOORD_TRY(run->cluster_, chaos::make_device_turn_cluster(options, devices));
  if (options.hash_blocks != 0) {
    GCOORD_TRY(const auto places,
               chaos::hash_places(devices, options.hash_blocks / chaos::kProcessorHashBlocks));
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      GCOORD_TRY(run->hashing_[n],
                 chaos::HashingNode::start(*run->cluster_, n, places[n], kLifeNs));
    }
  }
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    GCOORD_TRY(run->nodes_[n],
               chaos::PersistentNode::start(*run->cluster_, n, devices[n], kLifeNs));
  }
  // A leader's first entry is applied everywhere once it leads.
  const auto began = Clock::now();
  while (Clock::now() - began < std::chrono::milliseconds{kElectionMsMax}) {
    wait_ms(20);
    GCOORD_TRY(const std::uint64_t led, run->least_applied());
    if (led == options.shape.shard_count) {
      return run;
    }
  }
  return Status{StatusCode::Unavailable,
                "not every shard has a leader after " + std::to_string(kElectionMsMax) + " ms"};
}

Status TurnRun::stop(std::uint32_t n) {
  GCOORD_TRY_STATUS(cluster_->abort(n));
  return nodes_[n]->join();
}

Status TurnRun::stop_all() {
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    GCOORD_TRY_STATUS(stop(n));
  }
  for (const auto& one : hashing_) {
    if (one != nullptr) {
      GCOORD_TRY_STATUS(one->finish());
    }
  }
  return {};
}

Status TurnRun::rest() {
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    GCOORD_TRY_STATUS(cluster_->feed(n, 0));
  }
  std::vector<LogIndex> before;
  const auto began = Clock::now();
  while (Clock::now() - began < std::chrono::milliseconds{kRestMsMax}) {
    wait_ms(20);
    GCOORD_TRY(auto first, cluster_->applied(0));
    GCOORD_TRY(const auto second, cluster_->applied(1));
    GCOORD_TRY(const auto third, cluster_->applied(2));
    if (first == before && first == second && first == third) {
      return {};
    }
    before = std::move(first);
  }
  return {StatusCode::DeadlineExceeded,
          "replicas have not applied equally much " + std::to_string(kRestMsMax) +
              " ms after the last command"};
}

Result<std::uint64_t> TurnRun::applied(std::uint32_t n) {
  GCOORD_TRY(const auto rows, cluster_->service_rows(n));
  return std::accumulate(
      rows.begin(), rows.end(), std::uint64_t{0}, [](std::uint64_t sum, const auto& row) {
        return sum + row.count;
      });
}

Result<std::uint64_t> TurnRun::least_applied() {
  std::vector<LogIndex> least;
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    GCOORD_TRY(const auto applied, cluster_->applied(n));
    least.resize(applied.size(), LogIndex{~std::uint64_t{0}});
    std::transform(
        applied.begin(), applied.end(), least.begin(), least.begin(), [](LogIndex a, LogIndex b) {
          return min_id(a, b);
        });
  }
  return static_cast<std::uint64_t>(
      std::count_if(least.begin(), least.end(), [](LogIndex at) { return at.value != 0; }));
}

Status TurnRun::check_agreement(const std::vector<std::uint32_t>& nodes) {
  std::vector<std::vector<chaos::CountedRow>> rows;
  for (const std::uint32_t n : nodes) {
    GCOORD_TRY(auto copied, cluster_->service_rows(n));
    rows.push_back(std::move(copied));
  }
  for (std::size_t row = 0; row < rows[0].size(); ++row) {
    for (std::size_t k = 1; k < rows.size(); ++k) {
      const chaos::CountedRow& one = rows[k - 1][row];
      const chaos::CountedRow& other = rows[k][row];
      if (one.count == other.count && one.digest != other.digest) {
        return Status{StatusCode::Internal,
                      "replicas of shard " + std::to_string(row) + " differ in what they applied"};
      }
    }
  }
  return {};
}

Json latency_of(std::vector<std::uint32_t> samples_ns) {
  if (samples_ns.empty()) {
    return {{"samples", 0}};
  }
  std::sort(samples_ns.begin(), samples_ns.end());
  const auto at = [&](double share) {
    return samples_ns[static_cast<std::size_t>(share * static_cast<double>(samples_ns.size() - 1))];
  };
  const double sum = std::accumulate(samples_ns.begin(), samples_ns.end(), 0.0);
  Json histogram = Json::array();
  for (auto from = samples_ns.begin(); from != samples_ns.end();) {
    const double step = std::floor(4 * std::log2(std::max(*from, 1u)));
    const auto below = static_cast<std::uint32_t>(std::ceil(std::exp2((step + 1) / 4)));
    const auto to = std::lower_bound(from, samples_ns.end(), std::max(below, *from + 1));
    histogram.push_back({{"below_ns", below}, {"count", to - from}});
    from = to;
  }
  return {{"samples", samples_ns.size()},
          {"p50_ns", at(0.5)},
          {"p90_ns", at(0.9)},
          {"p99_ns", at(0.99)},
          {"p999_ns", at(0.999)},
          {"max_ns", samples_ns.back()},
          {"mean_ns", rounded(sum / static_cast<double>(samples_ns.size()))},
          {"histogram", histogram}};
}

}  // namespace gcoord::bench
