#include "chaos/check/raft_invariants.h"

#include "chaos/check/checks.h"
#include "tests/scratch_folder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::chaos {
namespace {

// Lives of nodes, each a list of lines.
Trace trace_of(const std::vector<std::vector<std::string>>& lives) {
  Trace trace;
  for (const auto& life : lives) {
    trace.files.push_back("life " + std::to_string(trace.files.size()));
    for (const std::string& text : life) {
      const auto line = parse_trace_line(text);
      EXPECT_TRUE(line.ok()) << text << " " << line.status().to_string();
      trace.lines.push_back(line.value());
      trace.lines.back().file = static_cast<std::uint32_t>(trace.files.size() - 1);
      trace.lines.back().line = trace.lines.size();
    }
  }
  return trace;
}

struct Moment {
  int node = 1;
  std::string role = "follower";
  int term = 1;
  int vote = 0;
  int leader = 0;
  int last = 5;
  int commit = 3;
  int applied = 3;
  std::string state_hash = {};
  std::string log_hash = {};
};

std::string line(const Moment& m) {
  std::string text =
      "{\"tick\":\"1\",\"node\":" + std::to_string(m.node) + ",\"shard\":7,\"term\":\"" +
      std::to_string(m.term) + "\",\"vote\":" + std::to_string(m.vote) + ",\"role\":\"" + m.role +
      "\",\"leader\":" + std::to_string(m.leader) + ",\"last\":\"" + std::to_string(m.last) +
      "\",\"commit\":\"" + std::to_string(m.commit) + "\",\"applied\":\"" +
      std::to_string(m.applied) + "\",\"durable\":\"0\",\"cause\":\"none\"";
  if (!m.state_hash.empty()) {
    text += ",\"state_hash\":\"" + m.state_hash + "\"";
  }
  if (!m.log_hash.empty()) {
    text += ",\"log_hash\":\"" + m.log_hash + "\"";
  }
  return text + "}";
}

// The invariants that are called broken, in order.
std::string broken(const std::vector<std::vector<std::string>>& lives) {
  std::string invariants;
  for (const CheckReport& report : check_raft(trace_of(lives))) {
    if (report.verdict == Verdict::Violation) {
      invariants += (invariants.empty() ? "" : " ") + report.invariants;
      EXPECT_FALSE(report.findings.empty());
      EXPECT_EQ(report.findings.front().key, "shard 7");
    }
  }
  return invariants;
}

TEST(RaftInvariants, AnElectionAndAFailoverAreFine) {
  EXPECT_EQ(broken({{line({.node = 1, .role = "candidate", .term = 1, .vote = 1}),
                     line({.node = 1, .role = "leader", .term = 1, .vote = 1, .leader = 1}),
                     line({.node = 1, .term = 2, .leader = 2, .last = 6, .commit = 6})},
                    {line({.node = 2, .term = 1, .vote = 1, .leader = 1}),
                     line({.node = 2, .role = "leader", .term = 2, .vote = 2, .leader = 2})}}),
            "");
}

TEST(RaftInvariants, TwoLeadersOfOneTerm) {
  EXPECT_EQ(broken({{line({.node = 1, .role = "leader", .term = 4})},
                    {line({.node = 2, .role = "leader", .term = 4})}}),
            "I1");
  EXPECT_EQ(broken({{line({.node = 1, .role = "leader", .term = 4})},
                    {line({.node = 3, .term = 4, .leader = 2})}}),
            "I1");
}

TEST(RaftInvariants, AVoteThatWasForgottenByARestart) {
  EXPECT_EQ(broken({{line({.node = 1, .term = 4, .vote = 2})},
                    {line({.node = 1, .term = 4}), line({.node = 1, .term = 4, .vote = 3})}}),
            "I2");
}

TEST(RaftInvariants, ALeaderThatCutsItsLog) {
  EXPECT_EQ(broken({{line({.role = "leader", .last = 9}), line({.role = "leader", .last = 8})}}),
            "I3");
  EXPECT_EQ(broken({{line({.last = 9}), line({.last = 8})}}), "") << "a follower may";
}

TEST(RaftInvariants, TwoLogsThatDifferBelowTheCommitIndex) {
  EXPECT_EQ(broken({{line({.node = 1, .log_hash = "aa"})}, {line({.node = 2, .log_hash = "bb"})}}),
            "I4");
}

TEST(RaftInvariants, ALeaderThatLacksWhatWasCommittedBefore) {
  EXPECT_EQ(broken({{line({.node = 1, .term = 2, .last = 9, .commit = 9})},
                    {line({.node = 2, .role = "leader", .term = 3, .last = 8})}}),
            "I5");
  EXPECT_EQ(broken({{line({.node = 1, .term = 3, .last = 9, .commit = 9})},
                    {line({.node = 2, .role = "leader", .term = 3, .last = 8})}}),
            "")
      << "it was committed in the leader's own term, later";
}

TEST(RaftInvariants, TwoStatesAtOneAppliedIndex) {
  EXPECT_EQ(
      broken({{line({.node = 1, .state_hash = "aa"})}, {line({.node = 2, .state_hash = "bb"})}}),
      "I6");
  EXPECT_EQ(broken({{line({.node = 1, .applied = 2, .state_hash = "aa"})},
                    {line({.node = 2, .state_hash = "bb"})}}),
            "");
}

TEST(RaftInvariants, WhatMustNotFallInOneLife) {
  EXPECT_EQ(broken({{line({.term = 3}), line({.term = 2})}}), "I7");
  EXPECT_EQ(broken({{line({.commit = 3}), line({.commit = 2, .applied = 2})}}), "I7");
  EXPECT_EQ(broken({{line({.applied = 3}), line({.applied = 2})}}), "I7");
  EXPECT_EQ(broken({{line({.commit = 3, .applied = 4})}}), "I7");
  EXPECT_EQ(broken({{line({.last = 2, .commit = 3})}}), "I7");
  EXPECT_EQ(broken({{line({.applied = 3})}, {line({.applied = 0})}}), "") << "another life";
}

TEST(RaftInvariants, WhatALineLeavesOutIsNotJudged) {
  const auto reports =
      check_raft(trace_of({{R"({"node":1,"shard":7,"applied":"4","state_hash":"aa"})",
                            R"({"node":2,"shard":7,"applied":"4","state_hash":"aa"})"}}));
  for (const CheckReport& report : reports) {
    const bool known = report.invariants == "I6" || report.invariants == "I7";
    EXPECT_EQ(report.verdict, known ? Verdict::Ok : Verdict::Idle) << report.checker;
  }
}

TEST(RaftInvariants, AfterItsDiskWasLostANodeVotesAsAnother) {
  auto trace = trace_of(
      {{line({.node = 2, .term = 3, .vote = 1})}, {line({.node = 2, .term = 3, .vote = 3})}});
  trace.lines.back().memory = 2;
  for (const CheckReport& report : check_raft(trace)) {
    EXPECT_EQ(report.violations, 0u) << report.checker;
  }
}

TEST(RaftInvariants, LinesThatAreNoTraceAreCounted) {
  const ScratchFolder folder;
  const auto file = folder.path() / "trace_bad.jsonl";
  std::ofstream{file} << line({}) << "\n{\"node\":1}\n" << line({}) << "\n{\"node\":1,";
  Trace trace;
  ASSERT_TRUE(read_trace(file, trace).ok());
  EXPECT_EQ(trace.lines.size(), 2u);
  ASSERT_EQ(trace.bad_line_count, 1u);
  EXPECT_EQ(trace.bad_lines[0].line, 2u);
  EXPECT_THAT(trace.bad_lines[0].what, testing::HasSubstr("shard"));
  EXPECT_EQ(trace.torn_files.size(), 1u);
  EXPECT_EQ(check_run({}, trace, {}).verdict, Verdict::Undecided);
  std::filesystem::remove(file);
  EXPECT_FALSE(read_trace(file, trace).ok());
}

}  // namespace
}  // namespace gcoord::chaos
