#include "server/node/ledger_bound.h"

#include "server/platform/operator_log.h"

#include <algorithm>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kBytesMaxLeast = std::uint64_t{1} << 30;
constexpr std::uint64_t kShareOfDisk = 10;
constexpr std::uint64_t kDayMs = 86'400'000;
// Before that a rate says little.
constexpr std::uint64_t kMeasuredMs = 60'000;
constexpr std::uint64_t kFirstToldMs = 600'000;

}  // namespace

std::uint64_t ledger_bytes_max(const NodeOptions& options,
                               bool directory_is_bounded,
                               std::uint64_t disk_bytes) {
  if (options.ledger_bytes_max) {
    return *options.ledger_bytes_max;
  }
  return directory_is_bounded ? std::max(kBytesMaxLeast, disk_bytes / kShareOfDisk) : 0;
}

LedgerGrowth::LedgerGrowth(MetricsRegistry& metrics)
    : unbounded_(metrics.gauge({"gcoord_ledger_history_unbounded",
                                "1 where nothing bounds the ledger and nobody has asked for that.",
                                "",
                                ""})),
      per_day_(metrics.gauge({"gcoord_ledger_history_growth_bytes_per_day",
                              "Bytes of new entries a day, at the pace since the node's start.",
                              "",
                              ""})) {}

void LedgerGrowth::start(bool alarm, std::uint64_t now_ms) {
  alarm_ = alarm;
  started_ms_ = now_ms;
  told_ms_ = now_ms;
  unbounded_.set(alarm ? 1 : 0);
  if (alarm) {
    log_warning(
        LogComponent::Ledger,
        "the data directory is one of an earlier release and keeps its whole ledger, whatever "
        "space that takes: give --ledger-bytes-max or --ledger-keep to bound it, or "
        "--ledger-bytes-max all to keep it without this line");
  }
}

void LedgerGrowth::look(const ledger::History& history, std::uint64_t now_ms) {
  const std::uint64_t bytes = history.counts().bytes;
  const std::uint64_t passed_ms = now_ms - started_ms_;
  if (passed_ms < kMeasuredMs) {
    return;
  }
  const double per_day =
      static_cast<double>(bytes) / static_cast<double>(passed_ms) * static_cast<double>(kDayMs);
  per_day_.set(static_cast<std::int64_t>(per_day));
  const bool first = told_ms_ == started_ms_;
  if (alarm_ && now_ms - told_ms_ >= (first ? kFirstToldMs : kDayMs)) {
    told_ms_ = now_ms;
    log_warning(LogComponent::Ledger,
                "the ledger takes {} MiB and grows by {} MiB a day without a bound",
                history.disk_bytes() >> 20,
                static_cast<std::uint64_t>(per_day) >> 20);
  }
}

}  // namespace gcoord::server
