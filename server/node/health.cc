#include "server/node/health.h"

#include "server/node/node_log.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

// Between two looks. The loop never sleeps longer (upkeep.h).
constexpr std::uint64_t kLookUs = 1'000'000;

HealthCheck majority_check(const NodeView& view, const ClusterMembers& members) {
  const bool ok = is_ready(view, members);
  const std::string silent = silent_peers(view);
  return {"majority", ok, silent.empty() ? "" : "not heard: " + silent};
}

HealthCheck ledger_check(const NodeLedger& ledger) {
  HealthCheck check{"ledger", true, "", false};
  if (!ledger.publishes()) {
    check.detail = std::string("publishes nothing: ") + ledger.silent_for();
    return check;
  }
  const NodeLedgerStatus status = ledger.status();
  if (!status.publication.refusal.ok()) {
    check.ok = false;
    check.detail = "does not sign: GC" + std::to_string(status.publication.refusal.detail()) + " " +
                   status.publication.refusal.message();
  } else if (!status.repair.empty()) {
    check.detail = "repairs the history of " + std::to_string(status.repair.size()) + " shards";
  }
  return check;
}

}  // namespace

bool NodeHealth::on_turn(std::uint64_t now_us) {
  board_.on_turn(now_us);
  notify_.on_turn(now_us);
  if (now_us < next_look_us_ || !stop_reason_.empty()) {
    return false;
  }
  next_look_us_ = now_us + kLookUs;
  return true;
}

void NodeHealth::on_look(const NodeView& view, const NodeLedger& ledger, std::uint64_t now_ms) {
  std::vector<HealthCheck> checks = {serves_check(),
                                     majority_check(view, members_),
                                     disk_check(view, now_ms),
                                     ledger_check(ledger),
                                     {"alarms", alarms_.empty(), alarms_, false}};
  if (gpu_.has_value()) {
    checks.push_back({"gpu", gpu_->empty(), *gpu_, false});
  }
  board_.set_checks(std::move(checks));
  tell_status();
}

void NodeHealth::on_ready() {
  status_ = "ready";
  notify_.ready(status_);
}

void NodeHealth::on_stopping(const std::string& reason) {
  stop_reason_ = reason;
  notify_.stopping("stopping: " + reason);
  board_.set_checks({serves_check()});
}

void NodeHealth::on_reopening(const std::string& reason) {
  stop_reason_ = reason;
  notify_.status("opens anew: " + reason);
  board_.set_checks({serves_check()});
}

HealthCheck NodeHealth::serves_check() const {
  return {"serves", stop_reason_.empty(), stop_reason_.empty() ? "" : "stopping: " + stop_reason_};
}

HealthCheck NodeHealth::disk_check(const NodeView& view, std::uint64_t now_ms) {
  if (!durable_seen_ || view.durable_lsn != durable_lsn_ ||
      view.durable_lsn >= view.submitted_lsn) {
    durable_seen_ = true;
    durable_lsn_ = view.durable_lsn;
    durable_since_ms_ = now_ms;
  }
  const std::uint64_t waited_ms = now_ms - std::min(now_ms, durable_since_ms_);
  const bool ok = waited_ms < kDiskLimitMs;
  return {
      "disk", ok, ok ? "" : "no write has become durable for " + std::to_string(waited_ms) + " ms"};
}

// The first required check that fails, or "ready", in `systemctl status`. Whether the manager takes
// the node for started is on_ready()'s.
void NodeHealth::tell_status() {
  const HealthReport report = board_.report();
  const auto failing = std::ranges::find_if(
      report.checks, [](const HealthCheck& check) { return !check.ok && check.required; });
  std::string status =
      failing == report.checks.end() ? "ready" : failing->name + ": " + failing->detail;
  if (status != status_) {
    notify_.status(status);
    status_ = std::move(status);
  }
}

}  // namespace gcoord::server
