// The parts of the upgrade test: moves, what counts as refused, silences, where a release is found.
#include "chaos/upgrade/moves.h"
#include "chaos/upgrade/previous_release.h"
#include "chaos/upgrade/result.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace gcoord::chaos {
namespace {

TEST(UpgradeMoves, EveryNodeGoesUpAndDownAndUp) {
  const auto moves = upgrade_moves(3, 7);
  ASSERT_EQ(moves.size(), 9u);
  for (std::size_t time = 0; time < 3; ++time) {
    std::set<std::uint32_t> nodes;
    int killed = 0;
    for (std::size_t at = 3 * time; at < 3 * time + 3; ++at) {
      nodes.insert(moves[at].node);
      killed += moves[at].killed ? 1 : 0;
      EXPECT_EQ(moves[at].to, time == 1 ? Release::Previous : Release::This);
    }
    EXPECT_EQ(nodes, (std::set<std::uint32_t>{1, 2, 3}));
    EXPECT_EQ(killed, 1);
  }
}

TEST(UpgradeMoves, OneSeedMakesTheSameMoves) {
  const auto moves = upgrade_moves(5, 11);
  const auto again = upgrade_moves(5, 11);
  for (std::size_t at = 0; at < moves.size(); ++at) {
    EXPECT_EQ(moves[at].node, again[at].node);
    EXPECT_EQ(moves[at].killed, again[at].killed);
  }
}

TEST(UpgradeRefusal, IsTheLineThatNamesTheNewerDirectory) {
  EXPECT_EQ(refusal_in("starts\nnode 2: written by a newer release (GC2007)\nends\n"),
            "node 2: written by a newer release (GC2007)");
  EXPECT_EQ(refusal_in("too new (GC2007)"), "too new (GC2007)");
  EXPECT_EQ(refusal_in("assertion failed\naborted\n"), "");
}

Operation answered(std::uint64_t at_ms, Outcome outcome = Outcome::Ok) {
  return {.op = Op::Acquire,
          .outcome = outcome,
          .call_ns = at_ms * 1'000'000,
          .return_ns = at_ms * 1'000'000};
}

TEST(UpgradeResult, SilenceIsTheLongestTimeWithoutACertainAnswerWithinAMove) {
  UpgradeResult result;
  result.moves.push_back({.from_ns = 1'000'000'000, .until_ns = 1'100'000'000});
  result.moves.push_back({.from_ns = 2'000'000'000, .until_ns = 2'100'000'000});
  summarize_load({answered(1090),
                  answered(900),
                  answered(1020),
                  answered(1050, Outcome::Unknown),
                  answered(1030),
                  answered(2010)},
                 result);
  EXPECT_DOUBLE_EQ(result.moves[0].silent_ms, 60);
  EXPECT_DOUBLE_EQ(result.moves[1].silent_ms, 90) << "up to its end";
  EXPECT_EQ(result.operations, 6u);
  EXPECT_EQ(result.acknowledged, 5u);
  EXPECT_EQ(result.unknown, 1u);
}

TEST(UpgradeResult, ARefusalPassesAndAFailureDoesNot) {
  UpgradeResult result;
  result.moves.push_back({.move = {.node = 2, .to = Release::Previous}, .refused = "GC2007"});
  EXPECT_TRUE(result.passed());
  EXPECT_NE(to_text(result).find("refused: GC2007"), std::string::npos);
  const Json told = to_json(result, 1);
  EXPECT_EQ(told["moves"].begin()->value("refused", std::string{}), "GC2007");
  result.failures.emplace_back("node 2 did not end");
  EXPECT_FALSE(result.passed());
}

TEST(PreviousRelease, IsTheProgramOfAFolder) {
  const ScratchFolder scratch;
  const ReleasePlaces nowhere{.repository = scratch.path(), .cache = scratch.path() / "cache"};
  EXPECT_EQ(previous_release(scratch.path().string(), nowhere).status().code(),
            StatusCode::NotFound);
  std::filesystem::create_directory(scratch.path() / "bin");
  std::ofstream{scratch.path() / "bin" / "gcoordd"} << "program";
  const auto found = previous_release(scratch.path().string(), nowhere);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().gcoordd, scratch.path() / "bin" / "gcoordd");
}

TEST(PreviousRelease, IsNoCommitOfAFolderWithoutOne) {
  const ScratchFolder scratch;
  const auto found = previous_release(
      "no-such-commit", {.repository = scratch.path(), .cache = scratch.path() / "cache"});
  EXPECT_EQ(found.status().code(), StatusCode::NotFound);
  EXPECT_NE(found.status().message().find("neither a folder nor a commit"), std::string::npos);
}

TEST(PreviousRelease, IsBuiltInAWorktreeThatABrokenBuildLeavesForTheNext) {
  const ScratchFolder scratch;
  const auto folder = scratch.path() / "release";
  const auto first = build_commands("repo", folder, "abc");
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[0][3], "worktree");
  EXPECT_EQ(first[0].back(), "abc");
  EXPECT_EQ(first[2].back(), "gcoordd");
  std::filesystem::create_directory(folder);
  EXPECT_EQ(build_commands("repo", folder, "abc").size(), 2u);
}

}  // namespace
}  // namespace gcoord::chaos
