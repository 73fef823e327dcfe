#include "bench/ledger/check.h"

#include "bench/report/results_file.h"
#include "chaos/check/checks.h"
#include "chaos/check/generated_history.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace gcoord::bench {

namespace {

using chaos::GeneratedHistoryOptions;
using chaos::ModelKind;
using chaos::Operation;
using chaos::Outcome;
using chaos::Verdict;
using Clock = std::chrono::steady_clock;

struct Case {
  const char* name;
  GeneratedHistoryOptions options;
};

constexpr std::uint32_t kOperations = 100'000;
constexpr std::uint32_t kKeys = 20;
constexpr std::uint32_t kClients = 16;
constexpr std::uint32_t kUnknownThousandths = 10;

// A fault may be beyond what can be ruled out; then the verdict is undecided, and says so.
constexpr std::chrono::seconds kTimeMax{20};

GeneratedHistoryOptions history_of(ModelKind model, std::uint32_t values) {
  return {.model = model,
          .seed = 1,
          .operations = kOperations,
          .keys = kKeys,
          .clients = kClients,
          .unknown_thousandths = kUnknownThousandths,
          .values = values};
}

double seconds_since(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

double parse_seconds(const std::vector<Operation>& history) {
  std::vector<std::string> lines;
  for (const Operation& operation : history) {
    lines.push_back(to_json_line(operation));
  }
  const auto began = Clock::now();
  std::uint64_t read = 0;
  for (const std::string& line : lines) {
    read += chaos::parse_operation(line).ok() ? 1u : 0u;
  }
  return read == lines.size() ? seconds_since(began) : -1;
}

// How many operations of one key are between call and return, on average over the calls.
double mean_concurrency(const std::vector<Operation>& history) {
  std::vector<std::pair<std::uint64_t, int>> events;
  for (const Operation& operation : history) {
    if (operation.key == "key/0" && operation.op != chaos::Op::Abandon) {
      events.emplace_back(operation.call_ns, 1);
      events.emplace_back(operation.return_ns, -1);
    }
  }
  std::sort(events.begin(), events.end());
  double sum = 0;
  int now = 0;
  for (const auto& [moment, change] : events) {
    now += change;
    sum += change > 0 ? now : 0;
  }
  return events.empty() ? 0 : sum / (static_cast<double>(events.size()) / 2);
}

Verdict worst(const std::vector<chaos::CheckReport>& reports) {
  for (const Verdict verdict : {Verdict::Violation, Verdict::Undecided}) {
    if (std::any_of(
            reports.begin(), reports.end(), [&](const auto& r) { return r.verdict == verdict; })) {
      return verdict;
    }
  }
  return Verdict::Ok;
}

// Makes an answer near the end of the last key one that no order explains.
void plant_fault(std::vector<Operation>& history, ModelKind model) {
  std::uint64_t skipped = 0;
  for (auto operation = history.rbegin(); operation != history.rend(); ++operation) {
    if (operation->outcome != Outcome::Ok || ++skipped < 500) {
      continue;
    }
    if (model == ModelKind::Lock && operation->op == chaos::Op::Check) {
      operation->verdict = chaos::TokenState::Valid;
      operation->token += 1'000'000;  // Never granted.
      return;
    }
    if (model != ModelKind::Lock && operation->op == chaos::Op::Read) {
      operation->value = "-1";
      return;
    }
  }
}

Json judge(const std::vector<Operation>& history, std::uint32_t runs) {
  chaos::LinearOptions bounds;
  bounds.bounds.time_max = kTimeMax;
  std::vector<double> seconds;
  Verdict verdict = Verdict::Ok;
  for (std::uint32_t run = 0; run < runs; ++run) {
    const auto began = Clock::now();
    verdict = worst(chaos::check_history(history, bounds));
    seconds.push_back(seconds_since(began));
  }
  return {{"verdict", chaos::verdict_name(verdict)},
          {"seconds_median", rounded(median(seconds))},
          {"seconds", rounded(*std::max_element(seconds.begin(), seconds.end()))}};
}

}  // namespace

BenchResult bench_check(const BenchOptions& options) {
  const Case cases[] = {{"lock", history_of(ModelKind::Lock, 0)},
                        {"register", history_of(ModelKind::Register, 5)},
                        {"register, every value new", history_of(ModelKind::Register, 0)},
                        {"counter", history_of(ModelKind::Counter, 0)},
                        {"guarded store", history_of(ModelKind::Guarded, 0)}};
  Json result = {
      {"method",
       "generated histories (chaos/check/generated_history.h, seed 1), judged from memory by all "
       "checkers on one core; seconds of the slowest run"},
      {"time_max_seconds", kTimeMax.count()},
      {"keys", kKeys},
      {"clients_per_key", kClients},
      {"unknown_share", kUnknownThousandths / 1000.0},
      {"runs", options.runs}};
  auto rows = Json::array();
  double slowest = 0;
  for (const Case& one : cases) {
    std::fprintf(stderr, "judge %u operations: %s\n", kOperations, one.name);
    auto history = generate_history(one.options);
    Json row = {{"model", one.name},
                {"operations", history.size()},
                {"concurrency_mean", rounded(mean_concurrency(history))},
                {"parse_seconds", rounded(parse_seconds(history))},
                {"legal", judge(history, options.runs)}};
    plant_fault(history, one.options.model);
    row["fault_planted"] = judge(history, 1);
    slowest = std::max(slowest, number_of(row["legal"]["seconds"]).value());
    if (row["legal"]["verdict"].text() != "ok" || row["fault_planted"]["verdict"].text() == "ok") {
      return Status{StatusCode::Internal, "a wrong verdict: " + row.dump()};
    }
    rows.push_back(std::move(row));
  }
  result["seconds_legal_max"] = slowest;
  result["models"] = rows;
  return result;
}

}  // namespace gcoord::bench
