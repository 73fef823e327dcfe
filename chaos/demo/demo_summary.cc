#include "chaos/demo/demo_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace gcoord::chaos {

namespace {

double percentile_ms(const std::vector<std::uint64_t>& sorted_ns, double share) {
  if (sorted_ns.empty()) {
    return 0;
  }
  const auto rank = std::ceil(share * static_cast<double>(sorted_ns.size()));
  const auto index = std::min(static_cast<std::size_t>(rank), sorted_ns.size()) - 1;
  return static_cast<double>(sorted_ns[index]) / 1e6;
}

double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

// Locks that somebody forgot about and somebody else got later: each of them expired.
std::uint64_t count_expiries(const std::vector<Operation>& operations) {
  std::vector<const Operation*> abandoned;
  std::unordered_map<std::string, std::uint64_t> highest;
  for (const Operation& operation : operations) {
    if (operation.op == Op::Abandon) {
      abandoned.push_back(&operation);
    } else if (operation.op == Op::Acquire && operation.outcome == Outcome::Ok) {
      std::uint64_t& token = highest[operation.key];
      token = std::max(token, operation.token);
    }
  }
  return static_cast<std::uint64_t>(
      std::count_if(abandoned.begin(), abandoned.end(), [&](const Operation* operation) {
        return highest[operation->key] > operation->token;
      }));
}

}  // namespace

void summarize_history(const std::vector<Operation>& operations, DemoResult& result) {
  std::vector<std::uint64_t> acquire_ns;
  result.load.operations = operations.size();
  for (const Operation& operation : operations) {
    const bool ok = operation.outcome == Outcome::Ok;
    result.load.unknown += operation.outcome == Outcome::Unknown ? 1u : 0u;
    result.load.sessions_lost += operation.op == Op::SessionLost ? 1u : 0u;
    result.load.releases += ok && operation.op == Op::Release ? 1u : 0u;
    if (ok && operation.op == Op::Acquire) {
      ++result.load.grants;
      result.load.waited_grants += operation.kind == AcquireKind::Wait ? 1u : 0u;
      if (operation.kind == AcquireKind::Lock) {
        acquire_ns.push_back(operation.return_ns - operation.call_ns);
      }
    }
  }
  std::sort(acquire_ns.begin(), acquire_ns.end());
  result.load.acquire_p50_ms = percentile_ms(acquire_ns, 0.5);
  result.load.acquire_p99_ms = percentile_ms(acquire_ns, 0.99);
  result.load.expiries = count_expiries(operations);
  result.load.commits_per_s =
      static_cast<double>(result.load.grants + result.load.releases + result.load.expiries) /
      result.load.seconds;
}

void summarize_checks(const CheckSummary& summary, DemoResult& result) {
  for (const CheckReport& report : summary.reports) {
    result.verdict.violations += report.violations;
    result.verdict.undecided += report.verdict == Verdict::Undecided ? 1u : 0u;
    if (report.invariants == "I11" || report.invariants == "I18") {
      result.verdict.double_grants += report.violations;
    } else if (report.invariants == "I8" || report.invariants == "I10") {
      result.verdict.lost_acks += report.violations;
    }
  }
}

Json to_json(const DemoResult& result) {
  return {{"nodes", result.nodes},
          {"shards", result.shards},
          {"stepper", result.stepper},
          {"turn", result.turn},
          {"device_reason", result.device_reason},
          {"durability", result.durability},
          {"tls", result.tls},
          {"start_ms", rounded(result.start_ms)},
          {"seconds", rounded(result.load.seconds)},
          {"operations", result.load.operations},
          {"grants", result.load.grants},
          {"waited_grants", result.load.waited_grants},
          {"releases", result.load.releases},
          {"expiries", result.load.expiries},
          {"unknown", result.load.unknown},
          {"sessions_lost", result.load.sessions_lost},
          {"commits_per_s", rounded(result.load.commits_per_s)},
          {"acquire_p50_ms", rounded(result.load.acquire_p50_ms)},
          {"acquire_p99_ms", rounded(result.load.acquire_p99_ms)},
          {"killed_node", result.kill.node},
          {"killed_leaders", result.kill.leaders},
          {"failover_ms", rounded(result.kill.failover_ms)},
          {"restart_ms", rounded(result.kill.restart_ms)},
          {"readmit_ms", rounded(result.kill.readmit_ms)},
          {"violations", result.verdict.violations},
          {"undecided", result.verdict.undecided},
          {"double_grants", result.verdict.double_grants},
          {"lost_acks", result.verdict.lost_acks},
          {"names_stuck", result.verdict.names_stuck},
          {"shards_compared", result.shards_compared},
          {"shards_different", result.shards_different},
          {"roots_agree", result.roots_agree},
          {"passed", result.passed()},
          {"fault", result.first_fault}};
}

std::string to_text(const DemoResult& result) {
  std::string text = fmt::format("\n  {:>4}  {:<21} {:<7} {:>8} {:>12} {:>10} {:>7}\n",
                                 "node",
                                 "clients at",
                                 "stepper",
                                 "leads",
                                 "incarnation",
                                 "RSS MiB",
                                 "CPU s");
  for (const NodeRow& row : result.node_rows) {
    text += fmt::format("  {:>4}  {:<21} {:<7} {:>8} {:>12} {:>10.1f} {:>7.2f}\n",
                        row.node_id,
                        row.client_address,
                        row.stepper,
                        row.leaders,
                        row.incarnation,
                        row.resident_mib,
                        row.cpu_seconds);
  }
  text += fmt::format(
      "\n  {:.0f} commits/s over {:.1f} s, each {} of two nodes before its answer{}\n"
      "  acquire p50 {:.2f} ms, p99 {:.2f} ms; {} grants, {} of them after waiting in line, {} "
      "expiries\n"
      "  failover: {} shards of node {} were led again {:.0f} ms after kill -9; {}\n",
      result.load.commits_per_s,
      result.load.seconds,
      result.durability == "memory" ? "in the memory" : "on stable storage",
      result.tls ? "; TLS on every port" : "",
      result.load.acquire_p50_ms,
      result.load.acquire_p99_ms,
      result.load.grants,
      result.load.waited_grants,
      result.load.expiries,
      result.kill.leaders,
      result.kill.node,
      result.kill.failover_ms,
      fmt::format("it was back in {:.0f} ms", result.kill.restart_ms));
  text += fmt::format(
      "checked: {} operations: {} double grants, {} lost acknowledgements; replicas of {} of {} "
      "shards agree: {}\n",
      result.load.operations,
      result.verdict.double_grants,
      result.verdict.lost_acks,
      result.shards_compared - result.shards_different,
      result.shards,
      result.passed() ? "every check held" : "FAILED: " + result.first_fault);
  return text;
}

}  // namespace gcoord::chaos
