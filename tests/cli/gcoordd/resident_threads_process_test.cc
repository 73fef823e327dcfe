// Three nodes of --turn resident whose lanes threads follow (docs/adr/0145): clients are served as
// by the loop alone, while nodes are killed and taken back, and no state differs from the device's.
#include "tests/cli/gcoordd/metric_sum.h"
#include "tests/cli/resident_cluster.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::cli {
namespace {

class ResidentThreadsTest : public ResidentProcessTest {
 protected:
  ResidentThreadsTest() : ResidentProcessTest({.stripes = "2", .more = {"--turn-threads", "2"}}) {}
};

TEST_F(ResidentThreadsTest, ClientsAreServedAndANodeThatWasKilledIsTakenBack) {
  for (int k = 0; k < 12; ++k) {
    const std::string name = "orders/" + std::to_string(k);
    const auto held = acquire(name);
    ctl_->json({"lock", "release", name, "--session", held["session"], "--token", held["token"]});
  }
  EXPECT_GT(metric_sum(*cluster_, "gcoord_server_resident_ahead_applied_total"), 0u);
  const auto grant = acquire("a");
  const auto other = acquire("b", "1s");
  cluster_->kill(1);
  EXPECT_EQ(verdict("a", grant)["verdict"], "VALID");
  restart(1);
  wait_until_whole();
  // The end of a session is the loop's, and the wait behind it a thread's.
  const auto next =
      ctl_->json({"--timeout", "30s", "lock", "acquire", "b", "--ttl", "60s", "--wait", "30s"});
  EXPECT_GT(std::stoull(std::string(next["token"])), std::stoull(std::string(other["token"])));
  EXPECT_EQ(ctl_->json({"lock", "ls"})["locks"].size(), 2u);
  EXPECT_EQ(metric_sum(*cluster_, "gcoord_server_resident_requests_unsound_total"), 0u);
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

}  // namespace
}  // namespace gcoord::cli
