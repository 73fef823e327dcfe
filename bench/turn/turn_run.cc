#include "bench/turn/turn_run.h"

#include "bench/report/results_file.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string>

namespace gcoord::bench {
namespace {

using nlohmann::ordered_json;
using server::kTurnNodes;
using Clock = std::chrono::steady_clock;

// No measurement is as long; a kernel that is forgotten ends then.
constexpr std::uint64_t kLifeNs = 20'000'000'000;
constexpr std::uint32_t kElectionMsMax = 3000;

}  // namespace

void wait_ms(std::uint32_t milliseconds) {
  const auto until = Clock::now() + std::chrono::milliseconds{milliseconds};
  while (Clock::now() < until) {
  }
}

Result<std::unique_ptr<TurnRun>> TurnRun::start(const chaos::TurnClusterOptions& options,
                                                const TurnDevices& devices) {
  std::unique_ptr<TurnRun> run{new TurnRun};
  GCOORD_TRY(run->cluster_, chaos::make_device_turn_cluster(options, devices));
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
  return {};
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

ordered_json latency_of(std::vector<std::uint32_t> samples_ns) {
  if (samples_ns.empty()) {
    return {{"samples", 0}};
  }
  std::sort(samples_ns.begin(), samples_ns.end());
  const auto at = [&](double share) {
    return samples_ns[static_cast<std::size_t>(share * static_cast<double>(samples_ns.size() - 1))];
  };
  const double sum = std::accumulate(samples_ns.begin(), samples_ns.end(), 0.0);
  ordered_json histogram = ordered_json::array();
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
