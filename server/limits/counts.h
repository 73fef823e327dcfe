// Counters of what was limited and denied, and their lines in the node's log at a bounded rate. One
// thread.
#pragma once

#include "common/host/metrics.h"
#include "security/limits/limit_table.h"
#include "server/platform/log_rate_limit.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gcoord::server {

// What a request was refused for; labels a metric. Never renumber.
enum class LimitedBy : std::uint8_t {
  Rate = 0,
  PrefixRate = 1,
  Sessions = 2,
  Locks = 3,
  Waiters = 4,
  Watches = 5,
  Bytes = 6,
  SessionTtl = 7,
};

inline constexpr std::size_t kLimitedByCount = 8;
inline constexpr std::size_t kDenialScopeCount = 4;

class LimitCounts {
 public:
  // The registry outlives it.
  explicit LimitCounts(MetricsRegistry& metrics);

  // Whether to log it now, too (log()).
  bool add(LimitedBy what, std::uint64_t now_ms) {
    limited_[static_cast<std::size_t>(what)]->add();
    return limit_.may_log(now_ms);
  }

  // `client`: the connection in words; `text`: what the client is answered.
  void log(std::string_view client, std::string_view text);

  void add_denied(security::DenialScope scope) {
    denied_[static_cast<std::size_t>(scope) - 1]->add();
  }

  void show(const security::LimitTable& table, std::size_t accounts) {
    limits_.set(static_cast<std::int64_t>(table.limits.size()));
    denials_.set(static_cast<std::int64_t>(table.denials.size()));
    accounts_.set(static_cast<std::int64_t>(accounts));
  }

 private:
  std::array<Counter*, kLimitedByCount> limited_{};
  std::array<Counter*, kDenialScopeCount> denied_{};
  Gauge& limits_;
  Gauge& denials_;
  Gauge& accounts_;
  LogRateLimit limit_;
};

// "rate", "prefix_rate" and the like.
std::string_view limited_by_name(LimitedBy what);

}  // namespace gcoord::server
