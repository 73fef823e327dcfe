#include "cli/bench/report/answer.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>

namespace gcoord::cli {

namespace {

struct Quantile {
  const char* name;
  double percent;
};

constexpr std::array kQuantiles = {
    Quantile{"p50", 50}, Quantile{"p90", 90}, Quantile{"p99", 99}, Quantile{"p999", 99.9}};

// Microseconds are exact enough.
double ms(double ns) {
  return std::round(ns / 1e3) / 1e3;
}

double ms(std::chrono::nanoseconds time) {
  return ms(static_cast<double>(time.count()));
}

double hundredths(double value) {
  return std::round(value * 100) / 100;
}

Json latency_json(const Histogram& times) {
  Json json = {{"min", ms(times.min())}, {"mean", ms(times.mean_ns())}};
  for (const Quantile& each : kQuantiles) {
    json[each.name] = ms(times.at_percent(each.percent));
  }
  json["max"] = ms(times.max());
  json["stddev"] = ms(times.deviation_ns());
  return json;
}

Json causes_json(const Recorder& record) {
  Json causes = Json::array();
  for (const auto& [cause, noted] : record.causes()) {
    causes.push_back(
        {{"cause", cause}, {"count", std::to_string(noted.count)}, {"first", noted.first}});
  }
  return causes;
}

Json checks_json(const std::vector<BenchCheck>& checks) {
  Json json = Json::array();
  for (const BenchCheck& check : checks) {
    json.push_back({{"check", check.name},
                    {"value", check.value},
                    {"limit", check.limit},
                    {"pass", check.pass}});
  }
  return json;
}

Json target_json(const BenchReport& report, const BenchTarget& target) {
  const OpenLoopResult& result = target.result;
  Json json = {{"target", target.name},
               {"seconds", hundredths(result.seconds)},
               {"due", std::to_string(result.due)},
               {"answered", std::to_string(result.record.answered())},
               {"answered_per_s", hundredths(result.answered_per_s())},
               {"errors", std::to_string(result.record.errors())},
               {"unfinished", std::to_string(result.record.unfinished())},
               {"causes", causes_json(result.record)},
               {"latency_ms", latency_json(result.record.latency())},
               {"late_ms",
                {{"p50", ms(result.late.at_percent(50))},
                 {"p99", ms(result.late.at_percent(99))},
                 {"max", ms(result.late.max())}}},
               {"waited_for_client", std::to_string(result.waited_for_client)},
               {"bound", bound_name(result.bound())},
               {"bound_text", bound_sentence(result)},
               {"cores_used", hundredths(result.own.cores_used)},
               {"busiest_thread", hundredths(result.own.busiest_thread)},
               {"machine_busy", hundredths(result.own.machine_busy)},
               {"stopped", result.stopped}};
  if (!report.plan.load.empty()) {
    const auto checks = checks_of(report.plan, result);
    json["checks"] = checks_json(checks);
    json["verdict"] = verdict_text(verdict_of(result, checks));
  }
  return json;
}

// "1 thread", "2 threads".
std::string counted(std::uint32_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string ms_text(std::chrono::nanoseconds time) {
  return fmt::format("{:.2f} ms", static_cast<double>(time.count()) / 1e6);
}

// The cells of one system, beside the names of row_names().
std::vector<std::string> cells_of(const BenchTarget& target) {
  const OpenLoopResult& result = target.result;
  const Histogram& latency = result.record.latency();
  std::vector<std::string> cells = {std::to_string(result.due),
                                    std::to_string(result.record.answered()),
                                    fmt::format("{:.1f}/s", result.answered_per_s()),
                                    std::to_string(result.record.errors()),
                                    std::to_string(result.record.unfinished())};
  for (const Quantile& each : kQuantiles) {
    cells.push_back(ms_text(latency.at_percent(each.percent)));
  }
  cells.push_back(ms_text(latency.max()));
  cells.push_back(fmt::format("{:.2f} ms", latency.deviation_ns() / 1e6));
  cells.push_back(fmt::format("{:.2f}", result.own.cores_used));
  return cells;
}

std::vector<std::string> row_names() {
  return {"due",
          "answered",
          "rate",
          "errors",
          "unfinished",
          "latency p50",
          "latency p90",
          "latency p99",
          "latency p999",
          "latency max",
          "latency stddev",
          "own processors"};
}

void add_notes(const BenchReport& report, const BenchTarget& target, Table& table) {
  const OpenLoopResult& result = target.result;
  const std::string who = report.compares() ? target.name + ": " : "";
  for (const auto& [cause, noted] : result.record.causes()) {
    table.notes.push_back(
        fmt::format("{}{} errors {}, the first: {}", who, noted.count, cause, noted.first));
  }
  if (result.stopped) {
    table.notes.push_back(fmt::format("{}Stopped after {:.1f} s.", who, result.seconds));
  }
  table.notes.push_back(who + bound_sentence(result));
  if (report.plan.load.empty()) {
    return;
  }
  const auto checks = checks_of(report.plan, result);
  for (const BenchCheck& check : checks) {
    table.notes.push_back(fmt::format("{}{}: {} {}, {}",
                                      who,
                                      check.pass ? "PASS" : "FAIL",
                                      check.name,
                                      check.value,
                                      check.limit));
  }
  table.notes.push_back(fmt::format("{}{}", who, verdict_text(verdict_of(result, checks))));
}

}  // namespace

std::string plan_sentence(const BenchPlan& plan) {
  const double seconds = std::chrono::duration<double>(plan.length).count();
  return fmt::format("{}{} at {}/s for {:g} s: {}, {}, {}, {}, {}",
                     plan.operation,
                     plan.load.empty() ? "" : ", load " + plan.load + ",",
                     plan.rate,
                     seconds,
                     counted(plan.clients, "client"),
                     counted(plan.connections, "connection"),
                     counted(plan.threads, "thread"),
                     counted(plan.keys, "name"),
                     distribution_name(plan.distribution));
}

std::vector<std::string> method_sentences(const BenchReport& report) {
  std::vector<std::string> sentences = {
      "Open loop: operation k is due k / rate seconds after the start, whatever became of those "
      "before it. Latency counts from when an operation was due, so a stall is charged for "
      "everything that should have begun meanwhile.",
      "Each client has one operation at a time. Before the measurement each did one, unmeasured.",
      "An operation without an answer is counted as unfinished, and stands in the latencies with "
      "the time that it had waited: a lower bound.",
      "Latencies are kept in a histogram of HdrHistogram's layout, with three significant digits; "
      "those of an interval with two."};
  if (report.compares()) {
    sentences.emplace_back(
        "etcd got the same schedule, the same names in the same order, and as many clients, "
        "connections and threads, after gcoord. It was driven by its gRPC interface over HTTP/2, "
        "as its own clients do, and not by its JSON gateway, which costs it a proxy.");
    sentences.emplace_back(
        "For etcd each operation takes the way that costs it least: a lock or an election that is "
        "free takes one transaction and one delete, connections lead to its leader where that is "
        "among the endpoints, and its leases need no keep-alives, while the sessions of gcoord are "
        "kept alive.");
    sentences.emplace_back(
        "This program uses more processor time for a request to etcd than for one to gcoord (own "
        "processors, in cores). Where it shares its machine with the nodes, that is taken from "
        "etcd: compare on a machine without nodes.");
  }
  return sentences;
}

Json answer_json(const BenchReport& report) {
  const BenchPlan& plan = report.plan;
  Json json = {{"operation", plan.operation},
               {"rate", plan.rate},
               {"clients", plan.clients},
               {"connections", plan.connections},
               {"threads", plan.threads},
               {"keys", plan.keys},
               {"distribution", distribution_name(plan.distribution)},
               {"duration_s", hundredths(std::chrono::duration<double>(plan.length).count())}};
  if (!plan.load.empty()) {
    json["load"] = plan.load;
  }
  merge_members(json, target_json(report, report.targets.front()));
  if (report.compares()) {
    json["compared"] = target_json(report, report.targets.back());
  }
  return json;
}

Table answer_table(const BenchReport& report) {
  Table table;
  table.caption = plan_sentence(report.plan);
  table.columns = {""};
  for (const std::string& name : row_names()) {
    table.rows.push_back({name});
  }
  for (const BenchTarget& target : report.targets) {
    table.columns.push_back(target.name);
    const std::vector<std::string> cells = cells_of(target);
    for (std::size_t row = 0; row < cells.size(); ++row) {
      table.rows[row].push_back(cells[row]);
    }
    add_notes(report, target, table);
  }
  return table;
}

}  // namespace gcoord::cli
