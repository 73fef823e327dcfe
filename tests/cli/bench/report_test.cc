#include "cli/bench/report/answer.h"
#include "cli/bench/report/csv.h"
#include "cli/bench/report/page.h"
#include "cli/bench/report/plot.h"
#include "cli/bench/report/verdict.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

BenchPlan plan() {
  BenchPlan plan;
  plan.operation = "lock";
  plan.load = "s";
  plan.rate = 100;
  plan.length = seconds{2};
  return plan;
}

// Two seconds at 100/s, each answered after a millisecond.
OpenLoopResult good_run() {
  OpenLoopResult result(plan().length);
  result.seconds = 2;
  result.due = 200;
  for (int k = 0; k < 200; ++k) {
    result.record.record(milliseconds{10} * k, milliseconds{1}, {});
    result.late.record(std::chrono::microseconds{60});
  }
  return result;
}

BenchReport report_of(OpenLoopResult result) {
  BenchReport report{.plan = plan(), .endpoints = "127.0.0.1:7400"};
  report.targets.push_back({"gcoord", std::move(result)});
  return report;
}

BenchVerdict verdict(const OpenLoopResult& result) {
  return verdict_of(result, checks_of(plan(), result));
}

TEST(VerdictTest, LoadsAreThoseOfEtcdsSelfTest) {
  EXPECT_EQ(standard_loads().size(), 4u);
  EXPECT_EQ(standard_load("s")->rate, 150u);
  EXPECT_EQ(standard_load("m")->clients, 200u);
  EXPECT_EQ(standard_load("xl")->rate, 15'000u);
  EXPECT_FALSE(standard_load("xxl").has_value());
}

TEST(VerdictTest, EachConditionAloneFailsARun) {
  EXPECT_EQ(verdict(good_run()), BenchVerdict::Pass);

  OpenLoopResult few(plan().length);
  few.seconds = 2;
  few.due = 200;
  for (int k = 0; k < 170; ++k) {  // 85 %.
    few.record.record(milliseconds{10} * k, milliseconds{1}, {});
  }
  EXPECT_EQ(verdict(few), BenchVerdict::Fail);

  OpenLoopResult slow = good_run();
  slow.record.record(seconds{1}, milliseconds{501}, {});
  EXPECT_EQ(verdict(slow), BenchVerdict::Fail);

  OpenLoopResult uneven = good_run();
  for (int k = 0; k < 100; ++k) {
    uneven.record.record(seconds{1}, milliseconds{400}, {});
  }
  EXPECT_EQ(verdict(uneven), BenchVerdict::Fail);

  OpenLoopResult wrong = good_run();
  wrong.record.record(seconds{1}, milliseconds{1}, Status{StatusCode::Unavailable, "no", 5001});
  EXPECT_EQ(verdict(wrong), BenchVerdict::Fail);

  OpenLoopResult unanswered = good_run();
  unanswered.record.record_unfinished(milliseconds{1});
  EXPECT_EQ(verdict(unanswered), BenchVerdict::Fail);
}

TEST(VerdictTest, ARunThatThisProgramLimitedOrThatWasStoppedDecidesNothing) {
  OpenLoopResult slow = good_run();
  slow.record.record(seconds{1}, milliseconds{501}, {});
  slow.own.busiest_thread = 0.97;
  EXPECT_EQ(slow.bound(), Bound::Thread);
  EXPECT_EQ(verdict(slow), BenchVerdict::Unsure);

  OpenLoopResult stopped = good_run();
  stopped.stopped = true;
  EXPECT_EQ(verdict(stopped), BenchVerdict::Unsure);
}

TEST(VerdictTest, TheBoundIsNamedByItsCause) {
  OpenLoopResult result = good_run();
  EXPECT_EQ(result.bound(), Bound::None);
  EXPECT_NE(bound_sentence(result).find("was not the bound"), std::string::npos);
  result.waited_for_client = 20;
  EXPECT_EQ(result.bound(), Bound::Clients);
  for (int k = 0; k < 10; ++k) {
    result.late.record(milliseconds{5});
  }
  EXPECT_EQ(result.bound(), Bound::Late);
  result.own.machine_busy = 0.99;
  EXPECT_EQ(result.bound(), Bound::Machine);
  result.own.busiest_thread = 0.95;
  EXPECT_EQ(result.bound(), Bound::Thread);
  EXPECT_NE(bound_sentence(result).find("was the bound"), std::string::npos);
}

TEST(AnswerTest, JsonHasTheVerdictAndTheBound) {
  const Json json = answer_json(report_of(good_run()));
  EXPECT_EQ(json["verdict"].text(), "PASS");
  EXPECT_EQ(json["bound"].text(), "none");
  EXPECT_EQ(json["answered"].text(), "200");
  EXPECT_EQ(json["checks"].size(), 4u);
  EXPECT_EQ(json["latency_ms"]["p99"].dump(), "1.0");
  EXPECT_FALSE(json.contains("compared"));
}

TEST(CsvTest, HasALineForEachInterval) {
  EXPECT_EQ(report_csv(report_of(good_run())),
            "target,operation,from_s,to_s,due,answered,errors,p50_ms,p90_ms,p99_ms,max_ms\n"
            "gcoord,lock,0,1,100,100,0,1.000,1.000,1.000,1.000\n"
            "gcoord,lock,1,2,100,100,0,1.000,1.000,1.000,1.000\n");
}

TEST(CsvTest, AStoppedRunHasNoLinesOfTheTimeAfterIt) {
  OpenLoopResult stopped = good_run();
  stopped.seconds = 0.5;
  const std::string csv = report_csv(report_of(std::move(stopped)));
  EXPECT_NE(csv.find("\ngcoord,lock,0,1,"), std::string::npos);
  EXPECT_EQ(csv.find("\ngcoord,lock,1,2,"), std::string::npos);
}

TEST(CsvTest, FieldsWithCommasQuotesAndLinesAreQuoted) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("a \"b\""), "\"a \"\"b\"\"\"");
  EXPECT_EQ(csv_field("a\nb"), "\"a\nb\"");
}

// Every element is closed in the order in which it was opened; the first that is not.
std::string unclosed(std::string_view html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
    const std::size_t end = html.find('>', at);
    if (end == std::string_view::npos) {
      return "a tag without end";
    }
    const std::string_view tag = html.substr(at + 1, end - at - 1);
    const std::string name{tag.substr(tag.starts_with('/') ? 1 : 0, tag.find_first_of(" /", 1))};
    if (tag.starts_with('!') || tag.ends_with('/')) {
      continue;
    }
    if (!tag.starts_with('/')) {
      open.push_back(name);
    } else if (open.empty() || open.back() != tag.substr(1)) {
      return std::string{tag};
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

TEST(PageTest, IsOneDocumentThatNeedsNothingElse) {
  BenchReport report = report_of(good_run());
  report.targets.push_back({"etcd", good_run()});
  report.compared = "10.0.0.1:2379";
  const std::string page = report_page(report);
  EXPECT_EQ(unclosed(page), "");
  EXPECT_NE(page.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_NE(page.find("<polyline"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("href="), std::string::npos);
  EXPECT_NE(page.find("PASS"), std::string::npos);
  EXPECT_NE(page.find("etcd p99"), std::string::npos);
}

TEST(PageTest, WhatOthersSaidIsEscaped) {
  OpenLoopResult result = good_run();
  result.record.record(seconds{1},
                       seconds{1},
                       Status{StatusCode::Unavailable, "<script>alert(1)</script> & \x1b", 5001});
  BenchReport report = report_of(std::move(result));
  report.endpoints = "<b>";
  const std::string page = report_page(report);
  EXPECT_EQ(unclosed(page), "");
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert(1)&lt;/script&gt; &amp; \xef\xbf\xbd"),
            std::string::npos);
  EXPECT_NE(page.find("nodes &lt;b&gt;"), std::string::npos);
}

TEST(PageTest, ARunWithoutAnswersIsAPageToo) {
  OpenLoopResult nothing(plan().length);
  nothing.seconds = 2;
  EXPECT_EQ(unclosed(report_page(report_of(std::move(nothing)))), "");
}

TEST(PlotTest, PointsThatALogarithmHasNotAreLeftOut) {
  Plot plot{.title = "t", .x_name = "x", .y_name = "y", .y_scale = PlotScale::Logarithmic};
  plot.lines.push_back({"line", "a", {{1, 0}, {2, 10}, {3, 1000}}});
  const std::string svg = plot_svg(plot);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_NE(svg.find("<polyline"), std::string::npos);
}

TEST(PlotTest, AnAxisEndsWithTheFirstStepThatHasAllPoints) {
  Plot plot{.title = "t", .x_name = "x", .y_name = "y"};
  plot.lines.push_back({"line", "a", {{0, 1}, {60, 1}}});
  const std::string svg = plot_svg(plot);
  EXPECT_NE(svg.find("864.0,"), std::string::npos) << svg;  // The last point is at the right edge.
  EXPECT_EQ(svg.find(">80</text>"), std::string::npos) << svg;
}

}  // namespace
}  // namespace gcoord::cli
