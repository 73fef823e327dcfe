// Count and log of the requests that were refused for a right.
//
// Counted by right; logged at a bounded rate, since each client can cause as many as it likes.
// There are kBuckets rates, and a principal has one of them by its name: so a client that is
// refused all the time does not keep the refusals of most others out of the log. One thread.
#pragma once

#include "common/host/metrics.h"
#include "security/credentials/principal.h"
#include "security/roles/rights.h"
#include "server/platform/log_rate_limit.h"
#include "server/rights/decision.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gcoord::server {

class Refusals {
 public:
  // Of the counter of refusals for a right, or for "identity".
  static MetricName name_of(std::string_view right);

  // The registry outlives it.
  explicit Refusals(MetricsRegistry& metrics);

  static constexpr std::size_t kBuckets = 16;

  struct Refused {
    const security::Principal& principal;
    const MissingRight& missing;
  };

  // Whether to log it now, too (log()).
  bool add(const Refused& refused, std::uint64_t now_ms);

  // `client`: the connection in words; `text`: what the client is answered, with its principal.
  void log(const security::Principal& principal, std::string_view client, std::string_view text);

  // A change that a node refused because it could not confirm its copy of the roles.
  void add_unconfirmed() { unconfirmed_.add(); }

  // A wait that was ended because its right is gone. Whether to log it now, too.
  bool add_ended_wait(const security::Principal& principal, std::uint64_t now_ms);

  // A watch that was ended because its right is gone.
  void add_ended_watch() { watches_.add(); }

 private:
  std::array<Counter*, security::kRightCount> by_right_{};
  Counter& unidentified_;
  Counter& unconfirmed_;
  Counter& watches_;
  Counter& waits_;
  std::array<LogRateLimit, kBuckets> limits_;
};

}  // namespace gcoord::server
