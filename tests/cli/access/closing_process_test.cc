// A cluster that works goes from open to closed, and then gets every certificate and secret anew,
// while clients lock, unlock, watch and begin anew: none of them may notice.
#include "bench/trust/changes.h"
#include "bench/trust/living_cluster.h"
#include "chaos/process/own_path.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

namespace gcoord::bench {
namespace {

class ClosingTest : public testing::Test {
 protected:
  void start(const TrustSettings& settings) {
    auto cluster = LivingCluster::start(
        {.directory = folder_.path(), .programs = chaos::own_path().parent_path(), .shards = 16},
        settings);
    ASSERT_TRUE(cluster.ok()) << cluster.status().to_string();
    cluster_ = std::move(cluster).value();
  }

  static void expect_nobody_noticed(const Result<Json>& result, std::size_t loads) {
    ASSERT_TRUE(result.ok()) << result.status().to_string();
    const Json& report = result.value();
    EXPECT_EQ(unsigned_of(report["failed"]), 0u) << report.dump(2);
    EXPECT_EQ(report["loads"].size(), loads);
    for (const Json& load : report["loads"]) {
      EXPECT_GT(unsigned_of(load["pairs"]).value_or(0), 0u) << report.dump(2);
    }
  }

  const ScratchFolder folder_;
  std::unique_ptr<LivingCluster> cluster_;
};

TEST_F(ClosingTest, FromOpenToClosedWithoutOneFailedRequest) {
  ASSERT_NO_FATAL_FAILURE(start({}));
  const auto closed = close_living_cluster(*cluster_, {.pairs_of_step = 20});
  expect_nobody_noticed(closed, 3);
  ASSERT_TRUE(closed.ok());
  EXPECT_EQ(unsigned_of(closed.value()["encrypted_links"]), 6u);
  EXPECT_EQ(unsigned_of(closed.value()["refused"]["plaintext"]), 3113u);
  EXPECT_EQ(unsigned_of(closed.value()["refused"]["without_a_user"]), 6560u);
}

TEST_F(ClosingTest, EveryCertificateAndSecretAnewWithoutOneFailedRequest) {
  ASSERT_NO_FATAL_FAILURE(start(kClosed));
  expect_nobody_noticed(rotate_everything(*cluster_, {.pairs_of_step = 20}), 2);
}

}  // namespace
}  // namespace gcoord::bench
