// Three nodes of --turn resident whose client sockets I/O threads serve: what they prepare is
// served like the rest, and the devices find nothing of it unsound.
#include "tests/cli/gcoordd/metric_sum.h"
#include "tests/cli/resident_cluster.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace gcoord::cli {
namespace {

class ResidentIngressTest : public ResidentProcessTest {
 protected:
  ResidentIngressTest() : ResidentProcessTest({.more = {"--io-threads", "1"}}) {}

  std::uint64_t sum(const std::string& begin) const { return metric_sum(*cluster_, begin); }

  std::uint64_t proposed(const std::string& way) const {
    return sum("gcoord_server_ingress_commands_total{way=\"" + way + "\"}");
  }
};

TEST_F(ResidentIngressTest, PreparedCommandsAreServedAndNothingIsUnsound) {
  for (int k = 0; k < 20; ++k) {
    const std::string name =
        "orders/" + std::to_string(k) + std::string(static_cast<std::size_t>(5 * k), 'x');
    const auto grant = acquire(name);
    ctl_->json({"lock", "release", name, "--session", grant["session"], "--token", grant["token"]});
  }
  EXPECT_GE(proposed("prepared"), 40u);
  const std::string name(300, 'n');
  const auto grant = acquire(name);
  EXPECT_EQ(ctl_->json({"lock", "get", name})["token"], grant["token"]);
  EXPECT_GE(proposed("long_name"), 1u);
  ctl_->json({"--timeout", "30s", "lock", "acquire", "noted", "--note", "why", "--ttl", "60s"});
  EXPECT_GE(proposed("other_kind"), 1u);
  EXPECT_EQ(proposed("loop"), 0u);
  EXPECT_EQ(sum("gcoord_server_resident_requests_unsound_total"), 0u);
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

}  // namespace
}  // namespace gcoord::cli
