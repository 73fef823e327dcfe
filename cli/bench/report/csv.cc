#include "cli/bench/report/csv.h"

#include <fmt/format.h>

#include <algorithm>

namespace gcoord::cli {

namespace {

double ms(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

std::string rows_of(const BenchPlan& plan, const BenchTarget& target) {
  const Schedule schedule(plan.rate, plan.length);
  const auto each = target.result.record.interval_length();
  const auto ran = std::chrono::duration<double>(target.result.seconds);
  std::string rows;
  std::chrono::milliseconds from{0};
  for (const BenchInterval& interval : target.result.record.intervals()) {
    if (std::chrono::duration<double>(from) >= ran) {
      break;  // The run was stopped.
    }
    const std::chrono::milliseconds to = std::min(from + each, plan.length);
    const std::chrono::nanoseconds just_before{1};
    rows += fmt::format("{},{},{:g},{:g},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f}\n",
                        csv_field(target.name),
                        csv_field(plan.operation),
                        std::chrono::duration<double>(from).count(),
                        std::chrono::duration<double>(to).count(),
                        schedule.due_by(to - just_before) - schedule.due_by(from - just_before),
                        interval.answered,
                        interval.errors,
                        ms(interval.latency.at_percent(50)),
                        ms(interval.latency.at_percent(90)),
                        ms(interval.latency.at_percent(99)),
                        ms(interval.latency.max()));
    from = to;
  }
  return rows;
}

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char each : text) {
    quoted += each == '"' ? "\"\"" : std::string(1, each);
  }
  return quoted + "\"";
}

std::string report_csv(const BenchReport& report) {
  std::string text =
      "target,operation,from_s,to_s,due,answered,errors,p50_ms,p90_ms,p99_ms,max_ms\n";
  for (const BenchTarget& target : report.targets) {
    text += rows_of(report.plan, target);
  }
  return text;
}

}  // namespace gcoord::cli
