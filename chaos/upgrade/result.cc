#include "chaos/upgrade/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gcoord::chaos {

namespace {

bool is_request(const Operation& operation) {
  return operation.op == Op::Acquire || operation.op == Op::Release || operation.op == Op::Check ||
         operation.op == Op::Renew;
}

// Between two answers in a row, or an answer and an end of the window. `answers` are in order.
double longest_silence_ms(const std::vector<std::uint64_t>& answers, const MoveRecord& move) {
  std::uint64_t last = move.from_ns;
  std::uint64_t longest = 0;
  for (auto at = std::lower_bound(answers.begin(), answers.end(), move.from_ns);
       at != answers.end() && *at < move.until_ns;
       ++at) {
    longest = std::max(longest, *at - last);
    last = *at;
  }
  return static_cast<double>(std::max(longest, move.until_ns - last)) / 1e6;
}

std::string move_text(const MoveRecord& record) {
  std::string text = fmt::format("  node {} to {:<16} {:<8}",
                                 record.move.node,
                                 release_name(record.move.to),
                                 record.move.killed ? "killed" : "stopped");
  if (!record.refused.empty()) {
    return text + "refused: " + record.refused + "\n";
  }
  return text + fmt::format(
                    "ready after {:.0f} ms, every shard led after {:.0f} ms, "
                    "no answer for {:.0f} ms at most\n",
                    record.ready_ms,
                    record.led_ms,
                    record.silent_ms);
}

}  // namespace

std::uint64_t UpgradeResult::violations() const {
  std::uint64_t count =
      failures.size() + names_stuck + agreement.shards_different + agreement.shards_behind;
  for (const CheckReport& report : checks.reports) {
    count += report.violations;
  }
  return count;
}

std::uint64_t UpgradeResult::undecided() const {
  return static_cast<std::uint64_t>(
      std::count_if(checks.reports.begin(), checks.reports.end(), [](const CheckReport& report) {
        return report.verdict == Verdict::Undecided;
      }));
}

void summarize_load(const std::vector<Operation>& operations, UpgradeResult& result) {
  std::vector<std::uint64_t> answers;
  for (const Operation& operation : operations) {
    if (!is_request(operation)) {
      continue;
    }
    const bool certain = operation.outcome != Outcome::Unknown;
    const bool changes = operation.op != Op::Check;
    ++result.operations;
    result.acknowledged += changes && operation.outcome == Outcome::Ok ? 1u : 0u;
    result.unknown += certain ? 0u : 1u;
    if (certain) {
      answers.push_back(operation.return_ns);
    }
  }
  std::sort(answers.begin(), answers.end());
  for (MoveRecord& move : result.moves) {
    move.silent_ms = longest_silence_ms(answers, move);
  }
}

Json to_json(const UpgradeResult& result, std::uint64_t seed) {
  auto moves = Json::array();
  for (const MoveRecord& record : result.moves) {
    Json move = {{"node", record.move.node},
                 {"to", record.move.to == Release::This ? "this" : "previous"},
                 {"killed", record.move.killed},
                 {"ready_ms", std::round(record.ready_ms)},
                 {"led_ms", std::round(record.led_ms)},
                 {"silent_ms", std::round(record.silent_ms)}};
    if (!record.refused.empty()) {
      move["refused"] = record.refused;
    }
    moves.push_back(std::move(move));
  }
  return {{"violations", result.violations()},
          {"undecided", result.undecided()},
          {"seconds", std::round(result.seconds * 10) / 10},
          {"seed", std::to_string(seed)},
          {"previous", {{"name", result.previous}, {"version", result.previous_version}}},
          {"this", {{"version", result.this_version}}},
          {"moves", std::move(moves)},
          {"operations", result.operations},
          {"acknowledged", result.acknowledged},
          {"unknown", result.unknown},
          {"names_stuck", result.names_stuck},
          {"moves_after_load", result.moves_after_load},
          {"replicas",
           {{"compared", result.agreement.shards_compared},
            {"different", result.agreement.shards_different},
            {"behind", result.agreement.shards_behind}}},
          {"failures", result.failures},
          {"checks", to_json(result.checks)}};
}

std::string to_text(const UpgradeResult& result) {
  std::string text = fmt::format("previous: {} ({}); this: {}\n",
                                 result.previous_version,
                                 result.previous,
                                 result.this_version);
  for (const MoveRecord& record : result.moves) {
    text += move_text(record);
  }
  text += fmt::format(
      "{} operations in {:.0f} s, {} changes acknowledged, {} of unknown outcome; {} names stuck; "
      "{} shards compared, {} different, {} behind\n",
      result.operations,
      result.seconds,
      result.acknowledged,
      result.unknown,
      result.names_stuck,
      result.agreement.shards_compared,
      result.agreement.shards_different,
      result.agreement.shards_behind);
  if (result.moves_after_load > 0) {
    text += fmt::format("{} moves ended after the load; give them more --seconds\n",
                        result.moves_after_load);
  }
  text += to_text(result.checks);
  for (const std::string& failure : result.failures) {
    text += "FAILED: " + failure + "\n";
  }
  return text + (result.passed()
                     ? "passed: nothing was lost, every move was made or refused in words\n"
                     : fmt::format("FAILED: {} violations, {} undecided\n",
                                   result.violations(),
                                   result.undecided()));
}

}  // namespace gcoord::chaos
