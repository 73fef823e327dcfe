#include "bench/turn/turn_hash.h"

#include "bench/report/results_file.h"
#include "chaos/device_turn/tree_check.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::bench {
namespace {

using server::kTurnNodes;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kBatches[] = {1, 4, 16};
constexpr std::uint32_t kWarmMs = 200;
constexpr std::uint32_t kMeasuredMs = 500;
// Room for what is decided between two passes of what hashes. Without trees a quarter of it does.
constexpr std::uint32_t kHashedLogSlots = 256;
constexpr chaos::TreeCheckOptions kCheck{.shards_max = 4096, .leaves_max = 8'000'000, .threads = 8};

struct Setting {
  TurnDevices devices;
  std::uint32_t shards;
  std::uint32_t batch;
};

// One way to run: without trees, the same with the log that trees need, or with trees, where so
// many percent of the multiprocessors have turns.
struct Way {
  std::string name;
  bool long_log = true;
  std::optional<std::uint32_t> percent;
};

const char* const kWithout = "none";
const char* const kWithoutLong = "none, long log";

Result<chaos::TurnClusterOptions> options_of(const Setting& setting, const Way& way) {
  std::uint32_t hashing = 0;
  if (way.percent.has_value()) {
    GCOORD_TRY(const std::uint32_t all, chaos::processors_of(setting.devices[0]));
    hashing = chaos::hash_processors(all, crowd_of(setting.devices), *way.percent);
  }
  GCOORD_TRY(const std::uint32_t stripes, stripes_for(setting.devices, hashing));
  chaos::TurnClusterOptions options = options_for(setting.shards, stripes);
  options.hash_blocks = hashing * chaos::kProcessorHashBlocks;
  if (way.long_log) {
    options.shape.log_slots = kHashedLogSlots;
  }
  return options;
}

Result<std::uint64_t> sum_hashed(TurnRun& run) {
  std::uint64_t sum = 0;
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    GCOORD_TRY(const auto sizes, run.cluster().hashed(n));
    sum = std::accumulate(sizes.begin(), sizes.end(), sum);
  }
  return sum;
}

// What was counted at one time while nodes run.
struct Reading {
  std::uint64_t applied = 0;  // On node 0.
  Clock::time_point applied_at;
  std::uint64_t hashed = 0;  // On all nodes.
  Clock::time_point hashed_at;
};

Result<Reading> read(TurnRun& run, bool hashes) {
  Reading now;
  GCOORD_TRY(now.applied, run.applied(0));
  now.applied_at = Clock::now();
  if (hashes) {
    GCOORD_TRY(now.hashed, sum_hashed(run));
  }
  now.hashed_at = Clock::now();
  return now;
}

double per_second(std::uint64_t count, Clock::duration time) {
  return static_cast<double>(count) / std::chrono::duration<double>(time).count();
}

// What the trees took, and what they came to. The run has stopped.
Result<Json> trees_of(TurnRun& run, double leaves_per_s) {
  ledger::FollowCounts sum;
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    GCOORD_TRY(const auto counts, run.cluster().follow_counts(n));
    sum.chunks += counts.chunks;
    sum.leaves += counts.leaves;
    sum.nodes += counts.nodes;
    sum.busy_ns += counts.busy_ns;
  }
  GCOORD_TRY(const chaos::TreeVerdict verdict, chaos::check_trees(run.cluster(), kCheck));
  if (verdict.hashed_again == 0) {
    return Status{StatusCode::Internal, "no shard's entries could be made again"};
  }
  const auto leaves = static_cast<double>(sum.leaves);
  const double compressions = leaves + 2.0 * static_cast<double>(sum.nodes);
  const double blocks = kTurnNodes * run.cluster().options().hash_blocks;
  return Json{{"hash_blocks_per_node", run.cluster().options().hash_blocks},
              {"leaves_per_s", rounded(leaves_per_s)},
              {"compressions_per_s", rounded(leaves_per_s * compressions / leaves)},
              {"leaves_per_chunk", rounded(leaves / static_cast<double>(sum.chunks))},
              {"busy_share",
               rounded(static_cast<double>(sum.busy_ns) / leaves * leaves_per_s * 1e-9 / blocks)},
              {"shards_equal_on_all_replicas", verdict.shards},
              {"shards_without_tree", verdict.without_tree},
              {"leaves_of_one_replica", verdict.leaves},
              {"shards_equal_to_the_cpus", verdict.hashed_again},
              {"leaves_hashed_by_the_cpu", verdict.leaves_again},
              {"shards_led_by_several_nodes", verdict.several_leaders}};
}

// The part of all commands that replicas got in snapshots and not as entries: a leader with a short
// log lets go of what a third replica has not got. A tree has all entries, so none with trees.
Result<double> by_snapshot(TurnRun& run) {
  std::uint64_t had = 0;
  std::uint64_t applied = 0;
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    GCOORD_TRY(const std::uint64_t commands, run.applied(n));
    GCOORD_TRY(const chaos::NodeCounts counts, run.cluster().counts(n));
    had += commands;
    applied += counts.sum.applied;
  }
  return had > applied ? static_cast<double>(had - applied) / static_cast<double>(had) : 0.0;
}

// One run.
Result<Json> measure_once(const Setting& setting, const Way& way) {
  const bool hashes = way.percent.has_value();
  GCOORD_TRY(const chaos::TurnClusterOptions options, options_of(setting, way));
  GCOORD_TRY(const auto run, TurnRun::start(options, setting.devices));
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    GCOORD_TRY_STATUS(run->cluster().feed(n, setting.batch));
  }
  wait_ms(kWarmMs);
  GCOORD_TRY(const Reading before, read(*run, hashes));
  wait_ms(kMeasuredMs);
  GCOORD_TRY(const Reading after, read(*run, hashes));
  GCOORD_TRY_STATUS(run->rest());
  GCOORD_TRY_STATUS(run->stop_all());
  GCOORD_TRY_STATUS(run->check_agreement({0, 1, 2}));
  GCOORD_TRY(const double snapshots, by_snapshot(*run));
  Json row = {
      {"trees", way.name},
      {"stripes_per_node", options.shape.stripe_count},
      {"log_slots", options.shape.log_slots},
      {"commands_per_s",
       rounded(per_second(after.applied - before.applied, after.applied_at - before.applied_at))},
      {"share_by_snapshot", rounded(snapshots)}};
  if (hashes) {
    GCOORD_TRY(
        const Json trees,
        trees_of(*run,
                 per_second(after.hashed - before.hashed, after.hashed_at - before.hashed_at)));
    merge_members(row, trees);
  }
  GCOORD_TRY(row["nodes"], counts_of(*run));
  return row;
}

// The medians of each way, and what part of the rates without trees it keeps.
Json summary_of(const Json& rows) {
  std::vector<std::pair<std::string, std::vector<double>>> rates;
  for (const Json& row : rows) {
    if (!row.contains("commands_per_s")) {
      continue;
    }
    const auto name = row["trees"].text();
    if (rates.empty() || std::none_of(rates.begin(), rates.end(), [&](const auto& one) {
          return one.first == name;
        })) {
      rates.push_back({name, {}});
    }
    for (auto& [kind, values] : rates) {
      if (kind == name) {
        values.push_back(number_of(row["commands_per_s"]).value());
      }
    }
  }
  Json summary;
  for (const auto& [kind, values] : rates) {
    const double rate = median(values);
    summary[kind]["commands_per_s"] = rounded(rate);
    const auto keep_share = [&](const char* name, const char* without) {
      if (kind != without && summary.contains(without)) {
        summary[kind][name] = rounded(rate / number_of(summary[without]["commands_per_s"]).value());
      }
    };
    keep_share("of_without", kWithout);
    keep_share("of_without_long_log", kWithoutLong);
  }
  return summary;
}

void say(const Setting& setting, const Json& row) {
  if (row.contains("failed")) {
    std::fprintf(stderr, "  %s\n", row["failed"].text().c_str());
    return;
  }
  std::fprintf(stderr,
               "  %u shards, batch %u, trees %s: %.1f M commands/s, %.2f G compressions/s\n",
               setting.shards,
               setting.batch,
               row["trees"].text().c_str(),
               number_of(row["commands_per_s"]).value() / 1e6,
               number_of(row["compressions_per_s"]).value_or(0) / 1e9);
}

Json measure_setting(const Setting& setting,
                     const std::vector<std::uint32_t>& plans,
                     std::uint32_t runs) {
  std::vector<Way> ways{{kWithout, false, {}}, {kWithoutLong, true, {}}};
  for (const std::uint32_t percent : plans) {
    ways.push_back({std::to_string(percent), true, percent});
  }
  Json rows = Json::array();
  for (std::uint32_t k = 0; k < runs; ++k) {
    for (const Way& way : ways) {
      const auto measured = measure_once(setting, way);
      Json row = {{"trees", way.name}};
      if (measured.ok()) {
        row = measured.value();
      } else {
        row["failed"] = measured.status().to_string();
      }
      say(setting, row);
      rows.push_back(row);
    }
  }
  return {{"shards", setting.shards},
          {"active_shards", setting.shards},
          {"batch_size", setting.batch},
          {"medians", summary_of(rows)},
          {"runs", rows}};
}

}  // namespace

Result<Json> measure_hashing(const TurnDevices& devices,
                             const std::vector<std::uint32_t>& plans,
                             std::uint32_t shards,
                             std::uint32_t runs) {
  Json result = {{"record_bytes", ledger::kOneBlockRecordBytes},
                 {"compressions", "one a leaf and two a node, all three replicas together"},
                 {"trees", "percent of the multiprocessors that have turns; the others hash"},
                 {"settings", Json::array()}};
  for (const std::uint32_t batch : kBatches) {
    result["settings"].push_back(measure_setting({devices, shards, batch}, plans, runs));
  }
  return result;
}

}  // namespace gcoord::bench
