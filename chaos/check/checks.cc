#include "chaos/check/checks.h"

#include "chaos/check/fencing.h"
#include "chaos/check/raft_invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace gcoord::chaos {

namespace {

void append(std::vector<CheckReport>& reports, std::vector<CheckReport> more) {
  reports.insert(
      reports.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void undecide_all(std::vector<CheckReport>& reports, std::uint64_t bad_lines) {
  if (bad_lines != 0) {
    for (CheckReport& report : reports) {
      report.undecide(fmt::format("{} lines could not be read", bad_lines));
    }
  }
}

Verdict overall(const std::vector<CheckReport>& reports) {
  const auto any = [&](Verdict wanted) {
    return std::any_of(
        reports.begin(), reports.end(), [&](const auto& r) { return r.verdict == wanted; });
  };
  if (any(Verdict::Violation)) {
    return Verdict::Violation;
  }
  return any(Verdict::Ok) && !any(Verdict::Undecided) ? Verdict::Ok : Verdict::Undecided;
}

Json to_json(const CheckReport& report) {
  auto findings = Json::array();
  for (const Finding& finding : report.findings) {
    findings.push_back({{"invariant", finding.invariant},
                        {"key", finding.key},
                        {"what", finding.what},
                        {"evidence", finding.evidence}});
  }
  return {{"checker", report.checker},
          {"invariants", report.invariants},
          {"verdict", verdict_name(report.verdict)},
          {"judged", report.judged},
          {"violations", report.violations},
          {"undecided", report.undecided_reason},
          {"findings", findings}};
}

std::uint64_t count_of(const std::vector<CheckReport>& reports, Verdict verdict) {
  return static_cast<std::uint64_t>(std::count_if(
      reports.begin(), reports.end(), [&](const auto& r) { return r.verdict == verdict; }));
}

std::string to_text(const CheckReport& report) {
  std::string text = fmt::format("{:<10} {:<23} {:<17} {:>9} judged\n",
                                 report.invariants,
                                 report.checker,
                                 verdict_name(report.verdict),
                                 report.judged);
  if (!report.undecided_reason.empty()) {
    text += "    undecided: " + report.undecided_reason + "\n";
  }
  for (const Finding& finding : report.findings) {
    text += fmt::format("    {} {}: {}\n", finding.invariant, finding.key, finding.what);
    for (const std::string& line : finding.evidence) {
      text += "        " + line + "\n";
    }
  }
  if (report.violations > report.findings.size()) {
    text += fmt::format("    and {} more\n", report.violations - report.findings.size());
  }
  return text;
}

}  // namespace

std::string CheckSummary::first_finding() const {
  for (const CheckReport& report : reports) {
    if (!report.findings.empty()) {
      const Finding& finding = report.findings.front();
      std::string text = finding.invariant + " " + finding.key + ": " + finding.what;
      for (const std::string& line : finding.evidence) {
        text += "; " + line;
      }
      return text;
    }
  }
  return {};
}

std::vector<CheckReport> check_history(const std::vector<Operation>& operations,
                                       const LinearOptions& options) {
  return {check_linearizability(operations, options),
          check_acknowledged(operations),
          check_tokens(operations),
          check_mutual_exclusion(operations),
          check_exactly_once(operations)};
}

CheckSummary check_run(const History& history, const Trace& trace, const LinearOptions& options) {
  CheckSummary summary;
  summary.operations = history.operations.size();
  summary.trace_lines = trace.lines.size();
  summary.add(history);
  summary.add(trace);
  summary.reports = check_history(history.operations, options);
  undecide_all(summary.reports, history.bad_line_count);
  if (!trace.files.empty()) {
    auto reports = check_raft(trace);
    undecide_all(reports, trace.bad_line_count);
    append(summary.reports, std::move(reports));
  }
  summary.verdict = overall(summary.reports);
  return summary;
}

Json to_json(const CheckSummary& summary) {
  auto bad_lines = Json::array();
  for (const BadLine& bad : summary.bad_lines) {
    bad_lines.push_back({{"file", bad.file}, {"line", bad.line}, {"what", bad.what}});
  }
  auto checkers = Json::array();
  std::uint64_t violations = 0;
  for (const CheckReport& report : summary.reports) {
    checkers.push_back(to_json(report));
    violations += report.violations;
  }
  return {{"verdict", verdict_name(summary.verdict)},
          {"violations", violations},
          {"undecided", count_of(summary.reports, Verdict::Undecided)},
          {"operations", summary.operations},
          {"trace_lines", summary.trace_lines},
          {"bad_line_count", summary.bad_line_count},
          {"bad_lines", bad_lines},
          {"torn_files", summary.torn_files},
          {"checkers", checkers}};
}

std::string to_text(const CheckSummary& summary) {
  std::string text;
  for (const BadLine& bad : summary.bad_lines) {
    text += fmt::format("{}:{}: {}\n", bad.file, bad.line, bad.what);
  }
  for (const std::string& file : summary.torn_files) {
    text += fmt::format("{}: its last line was cut short, and left out\n", file);
  }
  for (const CheckReport& report : summary.reports) {
    text += to_text(report);
  }
  return text + fmt::format("verdict: {} ({} operations, {} trace lines)\n",
                            verdict_name(summary.verdict),
                            summary.operations,
                            summary.trace_lines);
}

}  // namespace gcoord::chaos
