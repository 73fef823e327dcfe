#include "server/lateness/slow_requests.h"

#include "common/text/printable.h"
#include "server/platform/operator_log.h"

#include <utility>

namespace gcoord::server {

std::string request_name(protocol::ConnectionId connection, const protocol::RequestSlot& request) {
  return protocol::connection_name(connection) + "/" + std::to_string(request.request_id);
}

namespace {

// What has no name may be of the node, with shard 0 as nobody's.
std::string shard_text(const SlowRequest& slow) {
  if (slow.request.shard == protocol::kAllShards) {
    return " of all shards";
  }
  return slow.request.shard == 0 && slow.name.empty()
             ? std::string{}
             : " of shard " + std::to_string(slow.request.shard);
}

}  // namespace

SlowRequests::SlowRequests(std::uint32_t limit_ms,
                           const protocol::ReplySink& replies,
                           MetricsRegistry& metrics)
    : limit_us_(limit_ms == 0 ? kNever : limit_ms * std::uint64_t{1000}),
      replies_(replies),
      count_(metrics.counter({"gcoord_server_slow_requests_total",
                              "Requests that were answered later than --slow-request-ms.",
                              "",
                              ""})) {}

void SlowRequests::add(const SlowRequest& slow, std::uint64_t now_us) {
  count_.add();
  if (!log_enabled(LogComponent::Clients, LogLevel::Warning)) {
    return;
  }
  if (lines_ == 0 || now_us >= window_begin_us_ + kWindowUs) {
    window_begin_us_ = now_us;
    lines_ = 0;
  }
  if (lines_ == kLinesMax) {
    ++suppressed_;
    return;
  }
  ++lines_;
  const std::uint64_t suppressed = std::exchange(suppressed_, std::uint64_t{0});
  log_warning(LogComponent::Clients,
              "slow request {}: {}{}{}{} took {:.3f} s {}; {}{}",
              request_name(slow.connection, slow.request),
              protocol::request_kind_name(slow.request.kind),
              slow.name.empty() ? "" : " ",
              slow.name.empty() ? "" : in_quotes(slow.name),
              shard_text(slow),
              static_cast<double>(now_us - slow.started_us) / 1e6,
              slow.spent,
              replies_.describe(slow.connection),
              suppressed == 0 ? "" : "; " + std::to_string(suppressed) + " more had no line");
}

}  // namespace gcoord::server
