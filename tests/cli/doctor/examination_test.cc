#include "cli/doctor/examination.h"

#include "common/json/text.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::cli {
namespace {

constexpr std::uint64_t kNowMs = 1'790'000'000'000;

// A node as a healthy cluster of three has it, asked at kNowMs and answering within 10 ms.
NodeFacts healthy_node(std::uint32_t node) {
  NodeFacts facts{.node = node, .endpoint = "10.0.0." + std::to_string(node) + ":7400"};
  facts.asked_ms = kNowMs;
  facts.answered_ms = kNowMs + 10;
  facts.report = {{"version", "0.1.0"},
                  {"leaders", 341 + (node == 1 ? 1 : 0)},
                  {"wall_ms", std::to_string(kNowMs + 5)},
                  {"wal", {{"sync_p99_us", "1024"}}},
                  {"ledger", {{"lag", "3"}}},
                  {"deadlocks", {{"oversized", "0"}}},
                  {"publication", {{"age_ms", "500"}, {"refusal", ""}, {"alarms", Json::array()}}}};
  for (std::uint32_t other = 1; other <= 3; ++other) {
    if (other != node) {
      facts.report["peers"].push_back({{"node", other}, {"live", true}, {"reason", ""}});
    }
  }
  return facts;
}

ClusterFacts healthy_cluster() {
  return {.shard_count = 1024, .nodes = {healthy_node(1), healthy_node(2), healthy_node(3)}};
}

// "error reachable 2", of each finding in order.
std::vector<std::string> found(const ClusterFacts& facts) {
  std::vector<std::string> lines;
  for (const Finding& each : examine(facts, ExaminationLimits{})) {
    EXPECT_FALSE(each.what.empty());
    EXPECT_FALSE(each.advice.empty());
    lines.push_back(std::string{severity_name(each.severity)} + " " + std::string{each.check} +
                    " " + std::to_string(each.node));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Examination, AHealthyClusterHasNoFinding) {
  EXPECT_EQ(found(healthy_cluster()), Lines{});
}

TEST(Examination, AnOlderNodeThatTellsLessHasNoFinding) {
  ClusterFacts facts = healthy_cluster();
  facts.nodes[1].report = parse_json(R"({"version":"0.1.0","leaders":341})");
  EXPECT_EQ(found(facts), Lines{});
}

TEST(Examination, ValuesOfAnotherTypeThanExpectedAreNotTold) {
  ClusterFacts facts = healthy_cluster();
  facts.nodes[0].report = parse_json(
      R"({"version":1,"leaders":342,"wall_ms":[],"wal":7,"ledger":{"lag":-4},"peers":{"live":false},
          "publication":{"alarms":"x","age_ms":"soon"},"deadlocks":{"oversized":1e99}})");
  EXPECT_EQ(found(facts), (Lines{"warning versions 0"}));
}

TEST(Examination, OneSilentNodeIsAWarningAndAMajorityOfThemAnError) {
  ClusterFacts facts = healthy_cluster();
  facts.nodes[1].error = "Connection refused";
  EXPECT_EQ(found(facts), (Lines{"warning reachable 2"}));
  facts.nodes[2].error = "Connection refused";
  EXPECT_EQ(found(facts), (Lines{"error reachable 2", "error reachable 3"}));
}

TEST(Examination, SizesThatTolerateLessThanTheyLookAreNoted) {
  ClusterFacts facts = healthy_cluster();
  facts.nodes.pop_back();
  facts.nodes[0].report["leaders"] = 683;
  EXPECT_EQ(found(facts), (Lines{"note size 0"}));
}

TEST(Examination, ClocksApartByMoreThanTheWayMayAccountForAreFound) {
  ClusterFacts facts = healthy_cluster();
  facts.nodes[2].report["wall_ms"] = std::to_string(kNowMs + 5 + 1012);
  EXPECT_EQ(found(facts), Lines{}) << "6 ms of each node's offset are not sure";
  facts.nodes[2].report["wall_ms"] = std::to_string(kNowMs + 5 + 1013);
  EXPECT_EQ(found(facts), (Lines{"warning clocks 0", "warning clocks 0"})) << "against each other";
}

TEST(Examination, ANodeBehindIsFoundAsOneAhead) {
  ClusterFacts facts = healthy_cluster();
  facts.nodes[0].report["wall_ms"] = std::to_string(kNowMs - 60'000);
  EXPECT_EQ(found(facts), (Lines{"warning clocks 0", "warning clocks 0"}));
}

TEST(Examination, SlowDisksAndSlowAnswersAreFound) {
  ClusterFacts facts = healthy_cluster();
  facts.nodes[0].report["wal"]["sync_p99_us"] = "65536";
  facts.nodes[1].answered_ms = kNowMs + 501;
  facts.nodes[1].report["wall_ms"] = std::to_string(kNowMs + 250);
  EXPECT_EQ(found(facts), (Lines{"warning disks 1", "warning answers 2"}));
}

TEST(Examination, AFullDiskAndOneThatIsNearlyFullAreFound) {
  ClusterFacts facts = healthy_cluster();
  facts.nodes[0].report["disk"] = {{"low", false}, {"free_bytes", "100"}, {"total_bytes", "1000"}};
  EXPECT_EQ(found(facts), Lines{});
  facts.nodes[2].report["disk"] = {{"total_bytes", "1000"}};
  EXPECT_EQ(found(facts), Lines{}) << "what is free is not told";
  facts.nodes[0].report["disk"]["free_bytes"] = "99";
  facts.nodes[1].report["disk"] = {{"low", true}, {"free_bytes", "0"}, {"total_bytes", "1000"}};
  EXPECT_EQ(found(facts), (Lines{"error space 2", "warning space 1"}));
}

TEST(Examination, WhyANodeIsNotReadyIsFound) {
  ClusterFacts facts = healthy_cluster();
  facts.nodes[2].report["health"] = parse_json(
      R"({"checks":[{"name":"turns","ok":true,"required":true,"detail":""},
                    {"name":"majority","ok":false,"required":true,"detail":"heard 1 of 3"},
                    {"name":"ledger","ok":false,"required":false,"detail":"lags"}]})");
  const auto findings = examine(facts, ExaminationLimits{});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].what, "it is not ready: majority: heard 1 of 3");
}

TEST(Examination, APeerThatIsNotHeardIsFoundWithTheReason) {
  ClusterFacts facts = healthy_cluster();
  facts.nodes[0].report["peers"] =
      parse_json(R"([{"node":3,"live":false,"reason":"Connection timed out"}])");
  const auto findings = examine(facts, ExaminationLimits{});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].what, "it does not hear node 3: Connection timed out");
}

TEST(Examination, ShardsWithoutALeaderAndALeaderOfTooManyAreFound) {
  ClusterFacts facts = healthy_cluster();
  facts.nodes[0].report["leaders"] = 340;
  EXPECT_EQ(found(facts), (Lines{"error leaders 0"}));
  facts.nodes[0].report["leaders"] = 1024;
  facts.nodes[1].report["leaders"] = 0;
  facts.nodes[2].report["leaders"] = 0;
  EXPECT_EQ(found(facts), (Lines{"note leaders 1"}));
}

TEST(Examination, WhatIsWrongWithALedgerIsFound) {
  ClusterFacts facts = healthy_cluster();
  facts.nodes[0].report["publication"] = parse_json(
      R"({"age_ms":"60001","refusal":"GC8007 a lower head","alarms":[{"node":2,"shard":9}]})");
  facts.nodes[0].report["ledger"]["lag"] = "100001";
  EXPECT_EQ(found(facts),
            (Lines{"error ledger 1", "error ledger 1", "warning ledger 1", "warning ledger 1"}));
}

TEST(Examination, TheRestIsFoundToo) {
  ClusterFacts facts = healthy_cluster();
  facts.unknown_endpoints = {"10.0.0.9:7400"};
  facts.nodes[1].report["memory"] = {{"rejoining", true}, {"forgotten", 12}};
  facts.nodes[2].report["deadlocks"]["oversized"] = "1";
  EXPECT_EQ(found(facts),
            (Lines{"warning endpoints 0", "warning rejoining 2", "warning deadlocks 3"}));
}

TEST(Examination, AFindingHasALineAndItsAdviceOneBelow) {
  EXPECT_EQ(lines_of({{Severity::Warning, "peers", 2, "it does not hear node 1", "Look there."},
                      {Severity::Note, "size", 0, "the cluster has one node", "It may fail."}}),
            (Lines{"warning  peers, node 2: it does not hear node 1",
                   "         Look there.",
                   "note     size: the cluster has one node",
                   "         It may fail."}));
  EXPECT_TRUE(lines_of({}).empty());
}

TEST(Examination, AnOffsetIsHalfOfTheWayAccurate) {
  NodeFacts facts = healthy_node(1);
  facts.answered_ms = kNowMs + 100;
  facts.report["wall_ms"] = std::to_string(kNowMs + 70);
  const auto offset = clock_offset(facts);
  ASSERT_TRUE(offset.has_value());
  EXPECT_EQ(offset->ahead_ms, 20);
  EXPECT_EQ(offset->error_ms, 51u);
  facts.answered_ms = kNowMs - 1;
  EXPECT_FALSE(clock_offset(facts).has_value()) << "this machine's clock was set meanwhile";
}

TEST(Examination, SaysWhenEverybodyMayDoEverything) {
  ClusterFacts facts = healthy_cluster();
  facts.nodes[0].report["access"] = {{"open_to", "nobody"}};
  facts.nodes[1].report["access"] = {{"open_to", "network"}};
  facts.nodes[2].report["access"] = {{"open_to", "loopback"}};
  EXPECT_EQ(found(facts), (Lines{"warning access 2", "note access 3"}));
}

}  // namespace
}  // namespace gcoord::cli
