#include "cli/bench/report/page.h"

#include "cli/bench/report/answer.h"
#include "cli/bench/report/plot.h"

#include <fmt/format.h>

#include <cmath>

namespace gcoord::cli {

namespace {

// Colours that people who see red and green alike can tell apart. The second system's lines are
// dashed, so that they differ on paper, too.
constexpr const char* kStyle = R"css(
:root{color-scheme:light dark;--paper:#fff;--ink:#1d242b;--soft:#5b6570;--rule:#e3e6ea;--card:#f6f8fa;--good:#168a72;
--bad:#c73e4f;--a:#2f6fde;--b:#168a72;--c:#a04fc4}
@media (prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e6ebf0;--soft:#93a0ad;--rule:#262d35;--card:#1b2127;
--good:#4fd1b3;--bad:#ef6a78;--a:#6fa0ff;--b:#4fd1b3;--c:#cf8df0}}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:24px 16px 48px}h1{font-size:24px;margin:0 0 4px}h2{font-size:17px;margin:32px 0 8px}
p.lead,.soft{color:var(--soft)}.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:left;padding:5px 14px 5px 0;border-bottom:1px solid var(--rule)}td{font-variant-numeric:tabular-nums}
.badge{font-weight:650;padding:2px 12px;border-radius:99px;color:#fff;background:#5b6570;font-size:15px;margin-left:10px}
.badge.pass{background:#168a72}.badge.fail{background:#c73e4f}.ok{color:var(--good)}.no{color:var(--bad)}
.plot{width:100%;height:auto;border:1px solid var(--rule);border-radius:8px;margin:0 0 12px}.paper{fill:var(--card)}
.grid{stroke:var(--rule)}.label{font:11px system-ui,sans-serif;fill:var(--soft)}.heading{font:600 13px system-ui,sans-serif;
fill:var(--ink)}.line{fill:none;stroke-width:1.6}.a{stroke:var(--a)}.b{stroke:var(--b)}.c{stroke:var(--c)}
.second{stroke-dasharray:5 3}
)css";

double ms(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

// The class of a line: a colour, dashed for the second system.
std::string style_of(std::size_t target, const char* colour) {
  return target == 0 ? colour : std::string{colour} + " second";
}

template <typename Value>
std::vector<PlotPoint> over_time(const BenchTarget& target, const Value& value) {
  const double each = std::chrono::duration<double>(target.result.record.interval_length()).count();
  std::vector<PlotPoint> points;
  double at = 0;
  for (const BenchInterval& interval : target.result.record.intervals()) {
    if (at >= target.result.seconds) {
      break;
    }
    const double end = std::min(at + each, target.result.seconds);
    points.push_back({end, value(interval, end - at)});
    at += each;
  }
  return points;
}

Plot rate_plot(const BenchReport& report) {
  Plot plot{.title = "Answers and failures", .x_name = "seconds", .y_name = "per second"};
  for (std::size_t i = 0; i < report.targets.size(); ++i) {
    const BenchTarget& target = report.targets[i];
    plot.lines.push_back({target.name + " answers",
                          style_of(i, "a"),
                          over_time(target, [](const BenchInterval& interval, double seconds) {
                            return static_cast<double>(interval.answered) / seconds;
                          })});
    plot.lines.push_back({target.name + " failures",
                          style_of(i, "c"),
                          over_time(target, [](const BenchInterval& interval, double seconds) {
                            return static_cast<double>(interval.errors) / seconds;
                          })});
  }
  return plot;
}

Plot latency_plot(const BenchReport& report) {
  Plot plot{.title = "Latency over time",
            .x_name = "seconds",
            .y_name = "ms, logarithmic",
            .y_scale = PlotScale::Logarithmic};
  for (std::size_t i = 0; i < report.targets.size(); ++i) {
    const BenchTarget& target = report.targets[i];
    plot.lines.push_back({target.name + " p50",
                          style_of(i, "b"),
                          over_time(target, [](const BenchInterval& interval, double) {
                            return ms(interval.latency.at_percent(50));
                          })});
    plot.lines.push_back({target.name + " p99",
                          style_of(i, "c"),
                          over_time(target, [](const BenchInterval& interval, double) {
                            return ms(interval.latency.at_percent(99));
                          })});
  }
  return plot;
}

// x is 1 / (1 - share): 10 is p90, 100 is p99, 1000 is p99.9.
Plot percentile_plot(const BenchReport& report) {
  Plot plot{.title = "Latency by percentile",
            .x_name = "1 / (1 - percentile): 10 is p90, 100 is p99, 1000 is p99.9",
            .y_name = "ms, logarithmic",
            .x_scale = PlotScale::Logarithmic,
            .y_scale = PlotScale::Logarithmic};
  for (std::size_t i = 0; i < report.targets.size(); ++i) {
    const Histogram& latency = report.targets[i].result.record.latency();
    PlotLine line{report.targets[i].name, style_of(i, "a"), {}};
    for (double x = 1; x <= static_cast<double>(latency.count()); x *= 1.2) {
      line.points.push_back({x, ms(latency.at_percent(100 * (1 - 1 / x)))});
    }
    line.points.push_back({std::max(1.0, static_cast<double>(latency.count())), ms(latency.max())});
    plot.lines.push_back(std::move(line));
  }
  return plot;
}

std::string figures(const BenchReport& report) {
  const Table table = answer_table(report);
  std::string html = "<div class=\"scroll\"><table><tr>";
  for (const std::string& column : table.columns) {
    html += "<th>" + xml_text(column) + "</th>";
  }
  html += "</tr>";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (const std::string& cell : row) {
      html += "<td>" + xml_text(cell) + "</td>";
    }
    html += "</tr>";
  }
  return html + "</table></div>";
}

std::string checks(const BenchReport& report) {
  std::string rows;
  for (const BenchTarget& target : report.targets) {
    for (const BenchCheck& check : checks_of(report.plan, target.result)) {
      rows += fmt::format(
          R"(<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class="{}">{}</td></tr>)",
          xml_text(target.name),
          xml_text(check.name),
          xml_text(check.value),
          xml_text(check.limit),
          check.pass ? "ok" : "no",
          check.pass ? "PASS" : "FAIL");
    }
  }
  return "<h2>Verdict</h2><div class=\"scroll\"><table><tr><th>system</th><th>check</th>"
         "<th>value</th><th>limit</th><th></th></tr>" +
         rows + "</table></div>";
}

std::string failures(const BenchReport& report) {
  std::string rows;
  for (const BenchTarget& target : report.targets) {
    for (const auto& [cause, noted] : target.result.record.causes()) {
      rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                          xml_text(target.name),
                          xml_text(cause),
                          noted.count,
                          xml_text(noted.first));
    }
  }
  return rows.empty() ? rows
                      : "<h2>Failures</h2><div class=\"scroll\"><table><tr><th>system</th>"
                        "<th>cause</th><th>count</th><th>the first</th></tr>" +
                            rows + "</table></div>";
}

std::string method(const BenchReport& report) {
  std::string items;
  for (const std::string& sentence : method_sentences(report)) {
    items += "<li>" + xml_text(sentence) + "</li>";
  }
  for (const BenchTarget& target : report.targets) {
    items += fmt::format(
        "<li>{}: {}</li>", xml_text(target.name), xml_text(bound_sentence(target.result)));
  }
  return "<h2>Method</h2><ul>" + items + "</ul>";
}

std::string badge(const BenchReport& report) {
  if (report.plan.load.empty()) {
    return {};
  }
  const OpenLoopResult& result = report.targets.front().result;
  const BenchVerdict verdict = verdict_of(result, checks_of(report.plan, result));
  const char* mood = verdict == BenchVerdict::Pass   ? "pass"
                     : verdict == BenchVerdict::Fail ? "fail"
                                                     : "";
  return fmt::format(R"(<span class="badge {}">{}</span>)", mood, verdict_text(verdict));
}

}  // namespace

std::string report_page(const BenchReport& report) {
  const std::string title = "gcoordctl bench " + report.plan.operation;
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/><title>" +
      xml_text(title) + "</title><style>" + kStyle + "</style></head><body><main>";
  page += "<h1>" + xml_text(title) + badge(report) + "</h1>";
  page += fmt::format("<p class=\"lead\">{}. {}, gcoordctl {}, nodes {}{}.</p>\n",
                      xml_text(plan_sentence(report.plan)),
                      xml_text(report.when),
                      xml_text(report.version),
                      xml_text(report.endpoints),
                      report.compares() ? ", etcd " + xml_text(report.compared) : "");
  for (const Plot& plot : {rate_plot(report), latency_plot(report), percentile_plot(report)}) {
    page += plot_svg(plot) + "\n";
  }
  page += "<h2>Figures</h2>" + figures(report);
  page += report.plan.load.empty() ? "" : checks(report);
  page += failures(report) + method(report);
  return page + "</main></body></html>\n";
}

}  // namespace gcoord::cli
