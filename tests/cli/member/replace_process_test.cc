// Another machine in the place of a lost one, at both turns: it gets all that was decided, it
// counts like the others, and what is left of the old one never counts again. With a resident turn
// it gets the old one's number, too (docs/adr/0163).
#include "tests/cli/member/joining_cluster.h"

#include <csignal>
#include <cstdint>
#include <string>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

class ReplaceTurnTest : public AtBothTurns<JoiningCluster> {
 protected:
  std::string acquire(const std::string& endpoints, const std::string& name) const {
    const nlohmann::json grant =
        Ctl{endpoints}.json({"--timeout", "60s", "lock", "acquire", name, "--ttl", "1h", "--try"});
    EXPECT_TRUE(grant.contains("token")) << grant.dump();
    return grant.value("token", "");
  }
};

TEST_P(ReplaceTurnTest, ALostNodeIsReplacedAndTheOldOneNeverCountsAgain) {
  const std::string held = acquire(comma_list(cluster_->endpoints()), "held");
  cluster_->kill(2);
  const std::string token = verb({"replace", "2", "new-place", "--force"}, "token");
  // Between the order and the arrival nobody has the place.
  if (turn_ == "resident") {
    ASSERT_TRUE(cluster_->spawn(2).ok());
    EXPECT_GT(cluster_->wait_exit(2, kPatience).value_or(-1), 0);
    EXPECT_THAT(file_text(cluster_->log_file(2)), HasSubstr("GC3008"));
  }
  join(4, token);
  await_ready(4);
  ASSERT_NO_FATAL_FAILURE(await_state("new-place", "active"));
  ASSERT_TRUE(cluster_->spawn(2).ok());
  EXPECT_GT(cluster_->wait_exit(2, kPatience).value_or(-1), 0) << file_text(cluster_->log_file(2));
  EXPECT_THAT(file_text(cluster_->log_file(2)),
              HasSubstr(turn_ == "resident" ? "another data directory" : "GC3012"));

  // It has what was decided before it came, and its vote is one of two that a majority needs.
  cluster_->kill(1);
  const std::string others = cluster_->endpoints()[2] + "," + endpoint(4);
  EXPECT_FALSE(acquire(others, "after").empty());
  const Finished again = Ctl{others}(
      {"-o", "json", "--timeout", "60s", "lock", "acquire", "held", "--ttl", "1h", "--try"});
  EXPECT_EQ(again.code, 6) << again.out;
  EXPECT_FALSE(held.empty());
}

INSTANTIATE_TEST_SUITE_P(BothTurns, ReplaceTurnTest, both_turns(), turn_name);

class ResidentReplaceTest : public JoiningCluster {
 protected:
  ResidentReplaceTest() : JoiningCluster("resident") {}

  int refused(std::vector<std::string> words) const {
    words.insert(words.begin(), {"-o", "json", "--timeout", "30s", "member"});
    const Finished finished = ctl()(words);
    EXPECT_NE(finished.code, 0) << finished.out;
    return std::stoi(finished.json()["error"].value("code", std::string{"GC0"}).substr(2));
  }
};

// The old process is no more than stopped: it wakes up with channels, leaderships and leases of its
// own, behind the back of those who gave its number away.
TEST_F(ResidentReplaceTest, AProcessThatStoodStillMeanwhileEnds) {
  EXPECT_EQ(refused({"replace", "2", "other"}), 6616);  // It lives.
  cluster_->signal(2, SIGSTOP);
  const auto latest = std::chrono::steady_clock::now() + kPatience;
  std::string token;
  while (token.empty() && std::chrono::steady_clock::now() < latest) {
    const Finished ordered =
        ctl()({"-o", "json", "--timeout", "30s", "member", "replace", "2", "other"});
    token = ordered.code == 0 ? ordered.json().value("token", "") : "";
  }
  ASSERT_FALSE(token.empty());
  join(4, token);
  await_ready(4);
  ASSERT_NO_FATAL_FAILURE(await_state("other", "active"));
  const auto before =
      ctl().json({"--timeout", "60s", "lock", "acquire", "a", "--ttl", "1h", "--try"});
  cluster_->signal(2, SIGCONT);
  EXPECT_GT(cluster_->wait_exit(2, kPatience).value_or(-1), 0) << file_text(cluster_->log_file(2));
  const Finished taken = Ctl{endpoint(4)}(
      {"-o", "json", "--timeout", "60s", "lock", "acquire", "a", "--ttl", "1h", "--try"});
  EXPECT_EQ(taken.code, 6) << before.dump() << taken.out;
}

}  // namespace
}  // namespace gcoord::cli
