#include "cli/top/samples/series.h"

#include "common/assert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace gcoord::cli::top {

namespace {

using enum Source;
using enum Unit;

constexpr std::string_view kCommand = "gcoord_server_command_duration_seconds";
constexpr std::string_view kWait = "gcoord_server_wait_duration_seconds";
constexpr std::string_view kTurn = "gcoord_server_turn_duration_seconds";
constexpr std::string_view kEngineTurn = "gcoord_server_engine_turn_seconds";
constexpr std::string_view kSync = "gcoord_ledger_wal_sync_seconds";

constexpr double kColdest = -273.15;

// docs/reference/metrics.md has the metrics, docs/reference/schemas/gcoordctl.json the reports.
constexpr std::array kSeries = {
    Series{"leaders", "shards", "shards led", Count, StatusLevel, "", "leaders"},
    Series{"elections",
           "shards",
           "elections won/s",
           PerSecond,
           MetricRate,
           "",
           "gcoord_server_elections_won_total"},
    Series{"leaderships_lost",
           "shards",
           "leaderships lost/s",
           PerSecond,
           MetricRate,
           "",
           "gcoord_server_leaderships_lost_total"},
    Series{"peers_up", "shards", "peers heard", Count, MetricLevel, "", "gcoord_netcore_peer_up"},
    Series{"locks", "locks", "locks held", Count, StatusLevel, "", "locks"},
    Series{"waiters", "locks", "waiters", Count, StatusLevel, "", "waiters"},
    Series{"sessions", "locks", "sessions", Count, StatusLevel, "", "sessions"},
    Series{"clients", "locks", "clients", Count, StatusLevel, "", "connections"},
    Series{"grants", "locks", "grants/s", PerSecond, MetricRate, "", "gcoord_server_grants_total"},
    Series{"expiries",
           "locks",
           "sessions expired/s",
           PerSecond,
           MetricRate,
           "",
           "gcoord_server_session_expiries_total"},
    Series{
        "requests", "requests", "all/s", PerSecond, MetricRate, "", "gcoord_server_requests_total"},
    Series{"commands", "requests", "through the log/s", PerSecond, ObservedRate, "", kCommand},
    Series{"command_mean", "requests", "  mean time", Seconds, ObservedMean, "", kCommand},
    Series{"command_p99", "requests", "  p99", Seconds, ObservedP99, "", kCommand},
    Series{"waited", "requests", "acquires waited/s", PerSecond, ObservedRate, "", kWait},
    Series{"wait_mean", "requests", "  mean wait", Seconds, ObservedMean, "", kWait},
    Series{"reads_leased",
           "requests",
           "reads by lease/s",
           PerSecond,
           MetricRate,
           "",
           "gcoord_server_reads_leased_total"},
    Series{"reads_confirmed",
           "requests",
           "reads by quorum/s",
           PerSecond,
           MetricRate,
           "",
           "gcoord_server_reads_confirmed_total"},
    Series{"reads_failed",
           "requests",
           "reads rejected/s",
           PerSecond,
           MetricRate,
           "",
           "gcoord_server_reads_failed_total"},
    Series{"dear",
           "requests",
           "status and lists/s",
           PerSecond,
           MetricRate,
           "",
           "gcoord_server_dear_requests_total"},
    Series{"watch_messages",
           "requests",
           "to watches/s",
           PerSecond,
           MetricRate,
           "",
           "gcoord_server_watch_messages_total"},
    Series{"refused",
           "requests",
           "refused/s",
           PerSecond,
           MetricRate,
           "",
           "gcoord_server_requests_refused_total"},
    Series{"failed",
           "requests",
           "errors/s",
           PerSecond,
           MetricRate,
           "",
           "gcoord_server_requests_failed_total"},
    Series{"turns", "turns", "turns with work/s", PerSecond, ObservedRate, "", kTurn},
    Series{"turn", "turns", "  mean time", Seconds, ObservedMean, "", kTurn},
    Series{"turn_p99", "turns", "  p99", Seconds, ObservedP99, "", kTurn},
    Series{"engine_turn", "turns", "log's turn, mean", Seconds, ObservedMean, "", kEngineTurn},
    Series{"stalls",
           "turns",
           "stalls of the loop/s",
           PerSecond,
           MetricRate,
           "",
           "gcoord_server_loop_gaps_total"},
    Series{"syncs", "disk", "syncs/s", PerSecond, ObservedRate, "", kSync},
    Series{"sync_mean", "disk", "  mean time", Seconds, ObservedMean, "", kSync},
    Series{"sync_p99", "disk", "  p99", Seconds, ObservedP99, "", kSync},
    Series{"wal_bytes",
           "disk",
           "log written/s",
           BytesPerSecond,
           MetricRate,
           "",
           "gcoord_ledger_wal_bytes_total"},
    Series{"disk", "disk", "free space", Bytes, StatusLevel, "disk", "free_bytes"},
    Series{"entries", "ledger", "entries hashed/s", PerSecond, StatusRate, "ledger", "hashed"},
    Series{"ledger_lag", "ledger", "entries behind", Count, StatusLevel, "ledger", "lag"},
    Series{"ledger_disk", "ledger", "size on disk", Bytes, StatusLevel, "ledger", "disk_bytes"},
    Series{"ledger_unpublished",
           "ledger",
           "shards unpublished",
           Count,
           MetricLevel,
           "",
           "gcoord_server_publication_waiting_shards"},
    Series{"peer_bytes_in",
           "network",
           "from peers/s",
           BytesPerSecond,
           MetricRate,
           "",
           "gcoord_netcore_bytes_in_total"},
    Series{"peer_bytes_out",
           "network",
           "to peers/s",
           BytesPerSecond,
           MetricRate,
           "",
           "gcoord_netcore_bytes_out_total"},
    Series{"peer_phi",
           "network",
           "highest suspicion",
           Count,
           MetricHighest,
           "",
           "gcoord_server_peer_phi"},
    Series{"cpu", "process", "CPU", Ratio, MetricRate, "", "process_cpu_seconds_total"},
    Series{"memory", "process", "memory", Bytes, MetricLevel, "", "process_resident_memory_bytes"},
    Series{"threads", "process", "threads", Count, MetricLevel, "", "process_threads"},
    Series{"fds", "process", "open descriptors", Count, MetricLevel, "", "process_open_fds"},
    Series{"gpu_busy", "gpu", "busy, mean", Ratio, MetricMean, "", "gcoord_gpu_busy_ratio"},
    Series{
        "gpu_memory", "gpu", "memory used", Bytes, MetricLevel, "", "gcoord_gpu_memory_used_bytes"},
    Series{"gpu_power", "gpu", "power", Watts, MetricLevel, "", "gcoord_gpu_power_watts"},
    Series{"gpu_temperature",
           "gpu",
           "hottest",
           Celsius,
           MetricHighest,
           "",
           "gcoord_gpu_temperature_celsius"},
};

// How much a counter grew; nothing where it fell, which a counter of one life does not.
std::optional<double> growth(std::optional<double> before, std::optional<double> now) {
  const bool sound = before.has_value() && now.has_value() && *now >= *before;
  return sound ? std::optional{*now - *before} : std::nullopt;
}

std::optional<double> quotient(std::optional<double> part, std::optional<double> whole) {
  const bool sound = part.has_value() && whole.has_value() && *whole > 0;
  return sound ? std::optional{*part / *whole} : std::nullopt;
}

std::optional<double> metric_growth(std::string_view name,
                                    const NodeReading& before,
                                    const NodeReading& now) {
  return growth(before.page.sum(name), now.page.sum(name));
}

std::optional<double> p99_growth(std::string_view histogram,
                                 const NodeReading& before,
                                 const NodeReading& now) {
  const auto old_buckets = before.page.buckets(histogram);
  const auto buckets = now.page.buckets(histogram);
  if (buckets.empty() || buckets.size() != old_buckets.size()) {
    return std::nullopt;
  }
  const double all = buckets.back().count - old_buckets.back().count;
  for (std::size_t k = 0; k < buckets.size() && all > 0; ++k) {
    if (buckets[k].count - old_buckets[k].count >= 0.99 * all) {
      // Beyond the last bound nothing is known but that.
      const std::size_t known = std::isfinite(buckets[k].bound) || k == 0 ? k : k - 1;
      return std::isfinite(buckets[known].bound) ? std::optional{buckets[known].bound}
                                                 : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<double> counted(const Series& series,
                              const NodeReading& before,
                              const NodeReading& now) {
  const std::string name{series.name};
  switch (series.source) {
    case StatusRate:
      return growth(before.number(series.group, name), now.number(series.group, name));
    case ObservedRate:
      return metric_growth(name + "_count", before, now);
    default:
      return metric_growth(name, before, now);
  }
}

std::optional<double> level_of(const Series& series, const NodeReading& now) {
  switch (series.source) {
    case StatusLevel:
      return now.number(series.group, series.name);
    case MetricLevel:
      return now.page.sum(series.name);
    case MetricMean:
      return now.page.mean(series.name);
    default:
      return now.page.highest(series.name);
  }
}

std::optional<double> told_value(const Series& series,
                                 const NodeReading& now,
                                 const NodeReading* before) {
  switch (series.source) {
    case StatusLevel:
    case MetricLevel:
    case MetricMean:
    case MetricHighest:
      return level_of(series, now);
    default:
      break;
  }
  if (before == nullptr || now.at_ms <= before->at_ms) {
    return std::nullopt;
  }
  const std::string name{series.name};
  if (series.source == ObservedMean) {
    return quotient(metric_growth(name + "_sum", *before, now),
                    metric_growth(name + "_count", *before, now));
  }
  if (series.source == ObservedP99) {
    return p99_growth(name, *before, now);
  }
  return quotient(counted(series, *before, now),
                  static_cast<double>(now.at_ms - before->at_ms) / 1000);
}

// A sum of finite numbers, or their difference, may be infinite.
bool is_sound(double value, Unit unit) {
  return value >= (unit == Celsius ? kColdest : 0) && value <= kNumberMax;
}

}  // namespace

std::span<const Series> all_series() {
  return kSeries;
}

std::size_t series_index(std::string_view id) {
  const auto found = std::ranges::find(kSeries, id, &Series::id);
  GCOORD_ASSERT(found != kSeries.end());
  return static_cast<std::size_t>(found - kSeries.begin());
}

std::optional<double> value_of(const Series& series,
                               const NodeReading& now,
                               const NodeReading* before) {
  const auto value = told_value(series, now, before);
  return value.has_value() && is_sound(*value, series.unit) ? value : std::nullopt;
}

}  // namespace gcoord::cli::top
