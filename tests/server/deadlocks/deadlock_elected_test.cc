// Who looks for deadlocks where nodes elect their coordinator (docs/adr/0058).
#include "tests/server/deadlocks/deadlock_cluster.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace gcoord::server {
namespace {

class ElectedSearchTest : public testing::TestWithParam<CoordinatorMethod> {
 protected:
  // Shard 0 is led by node 1; node 3 has the highest number. The circle is over nodes 2 and 3.
  void close_circle() {
    cluster_.ask(5, a_);
    cluster_.ask(6, b_);
    older_ = cluster_.ask(5, b_);
    pass_slowly(700);
    younger_ = cluster_.ask(6, a_);
  }

  // As a clock does: a jump is a coordinator that was not heard.
  void pass_slowly(std::uint64_t ms) {
    for (std::uint64_t k = 0; k < ms / 10; ++k) {
      cluster_.pass_ms(10);
      cluster_.settle();
    }
  }

  DeadlockCluster cluster_{3, GetParam()};
  const std::string a_ = name_in(1);
  const std::string b_ = name_in(2);
  DeadlockCluster::Asked older_;
  DeadlockCluster::Asked younger_;
};

TEST_P(ElectedSearchTest, Row111And112TheElectedNodeLooksForDeadlocks) {
  cluster_.meet(true);
  for (std::uint32_t node = 1; node <= 3; ++node) {
    EXPECT_EQ(cluster_.node(node).service->coordinator().coordinator, NodeId{3}) << node;
  }
  close_circle();
  pass_slowly(3000);
  EXPECT_TRUE(cluster_.deadlocked(younger_));
  EXPECT_FALSE(cluster_.answered(older_));
  EXPECT_EQ(cluster_.counted(3, "ended"), 1u);
  EXPECT_EQ(cluster_.counted(1, "found"), 0u) << "the leader of shard 0 has nothing to do with it";
  EXPECT_EQ(nlohmann::json::parse(cluster_.report(1))["coordinator"], 3);
}

// Nobody is known to understand messages of an election: each is its own coordinator, and none sees
// the whole circle. What has waited for long comes together at the leader of shard 0.
TEST_P(ElectedSearchTest, Row111And112WithManyCoordinatorsACircleIsFoundAllTheSame) {
  cluster_.meet(false);
  for (std::uint32_t node = 1; node <= 3; ++node) {
    EXPECT_EQ(cluster_.node(node).service->coordinator().coordinator, NodeId{node});
  }
  close_circle();
  pass_slowly(3000);
  EXPECT_FALSE(cluster_.answered(younger_)) << "nobody saw all of it";
  pass_slowly(3000);
  EXPECT_TRUE(cluster_.deadlocked(younger_));
  EXPECT_NE(cluster_.text().find("session 5 waits for"), std::string::npos) << cluster_.text();
  EXPECT_FALSE(cluster_.answered(older_)) << "one wait of a circle ends, whoever found it";
  EXPECT_EQ(cluster_.counted(1, "ended"), 1u);
}

INSTANTIATE_TEST_SUITE_P(Methods,
                         ElectedSearchTest,
                         testing::Values(CoordinatorMethod::Bully, CoordinatorMethod::Ring));

}  // namespace
}  // namespace gcoord::server
