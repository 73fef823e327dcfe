// Elections and roles of a turn in one line.
#include "server/turn_lines/role_changes.h"

#include "server/log_levels/present.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>

namespace gcoord::server {
namespace {

using consensus::Cause;
using consensus::Role;
using testing::HasSubstr;

class RoleChangesTest : public testing::Test {
 protected:
  RoleChangesTest() {
    const auto logger = std::make_shared<spdlog::logger>(
        "node", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_));
    logger->set_pattern("%l %n: %v");
    spdlog::set_default_logger(logger);
    LogLevels levels = LogLevels::all(LogLevel::Plain);
    levels.set(LogComponent::Consensus, LogLevel::Debug);
    set_log_levels(levels);
  }

  ~RoleChangesTest() override {
    spdlog::set_default_logger(logger_before_);
    set_log_levels(levels_before_);
  }

  std::string told() {
    lines_.str("");
    changes_.tell();
    return lines_.str();
  }

  const std::shared_ptr<spdlog::logger> logger_before_ = spdlog::default_logger();
  const LogLevels levels_before_ = log_levels();
  std::ostringstream lines_;
  RoleChanges changes_{NodeId{1}};
};

constexpr RoleState kFollower{Role::Follower, Term{4}, NodeId{2}};
constexpr RoleState kLost{Role::Follower, Term{4}, NodeId{}};
constexpr RoleState kAsks{Role::PreCandidate, Term{4}, NodeId{}};
constexpr RoleState kCandidate{Role::Candidate, Term{5}, NodeId{}};
constexpr RoleState kLeader{Role::Leader, Term{5}, NodeId{1}};

TEST_F(RoleChangesTest, ATurnWithoutChangesWritesNothing) {
  EXPECT_EQ(told(), "");
}

TEST_F(RoleChangesTest, AnElectionIsBegunAndWonAndNamesTheShard) {
  changes_.note({ShardId{17}, kFollower, kAsks, Cause::Timeout});
  EXPECT_EQ(told(),
            "debug consensus: roles of 1 shards change: 1 elections begun, 0 won, 0 lost, 0 "
            "leaderships ended, 0 shards follow another node, 1 lose their leader; shard 17 "
            "follower of node 2 in term 4 -> pre-candidate in term 4, election timeout\n");
  changes_.note({ShardId{17}, kAsks, kCandidate});
  changes_.note({ShardId{17}, kCandidate, kLeader, Cause::Elected});
  EXPECT_THAT(told(), HasSubstr("0 elections begun, 1 won, 0 lost, 0 leaderships ended"));
  EXPECT_EQ(told(), "");
}

TEST_F(RoleChangesTest, ANodeAloneBeginsAndWinsAtOnce) {
  changes_.note({ShardId{0}, kLost, kLeader, Cause::Elected});
  EXPECT_THAT(told(), HasSubstr("1 elections begun, 1 won"));
}

TEST_F(RoleChangesTest, DefeatsAndEndsAreCounted) {
  changes_.note({ShardId{1}, kCandidate, {Role::Follower, Term{5}, NodeId{3}}});
  changes_.note({ShardId{2}, kLeader, {Role::Follower, Term{6}, NodeId{3}}, Cause::HigherTerm});
  changes_.note({ShardId{3}, kLeader, {Role::Leader, Term{7}, NodeId{1}}});
  EXPECT_THAT(told(),
              HasSubstr("1 elections begun, 1 won, 1 lost, 2 leaderships ended, 2 shards follow "
                        "another node"));
}

TEST_F(RoleChangesTest, OfVeryManyShardsThreeAreNamed) {
  for (std::uint32_t shard = 0; shard < 65'536; ++shard) {
    changes_.note({ShardId{shard}, kFollower, kAsks});
  }
  const std::string line = told();
  EXPECT_THAT(line, HasSubstr("roles of 65536 shards change: 65536 elections begun"));
  EXPECT_THAT(line, HasSubstr("the first: shard 0 "));
  EXPECT_THAT(line, HasSubstr("shard 2 "));
  EXPECT_EQ(line.find("shard 3 "), std::string::npos);
  EXPECT_LT(line.size(), 500u);
}

TEST_F(RoleChangesTest, WhileTheLevelIsOffNothingIsNoted) {
  set_log_levels(LogLevels::all(LogLevel::Plain));
  changes_.note({ShardId{17}, kFollower, kAsks});
  set_log_levels(LogLevels::all(LogLevel::Debug));
  EXPECT_EQ(told(), "");
}

}  // namespace
}  // namespace gcoord::server
