#include "server/trust/join_secret.h"

#include "security/secret/errors.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace gcoord::server {
namespace {

using security::ClusterSecret;

class JoinSecretTest : public testing::Test {
 protected:
  protocol::JoinAnswer answer() const {
    return {.cluster = ClusterId{7},
            .node = NodeId{4},
            .view = {},
            .sealed_secret = seal_join_secret(secret_, token_, {ClusterId{7}, NodeId{4}})};
  }

  std::string file() const { return folder_.path("cluster.secret"); }

  const ScratchFolder folder_;
  const std::string folder_path_ = folder_.path().string();
  const protocol::JoinToken token_{std::byte{1}, std::byte{2}};
  const ClusterSecret secret_ = ClusterSecret::generate().rotated();
};

TEST_F(JoinSecretTest, IsKeptWithThePreviousOneBySomebodyWhoHasTheToken) {
  ASSERT_TRUE(keep_join_secret(answer(), token_, folder_path_).ok());
  const auto kept = ClusterSecret::read(file());
  ASSERT_TRUE(kept.ok()) << kept.status().to_string();
  EXPECT_EQ(kept.value().id(), secret_.id());
  EXPECT_EQ(kept.value().previous_id(), secret_.previous_id());
  ASSERT_TRUE(keep_join_secret(answer(), token_, folder_path_).ok());  // After a crash.
}

TEST_F(JoinSecretTest, IsNotOpenedByAnotherTokenOrForAnotherNode) {
  const protocol::JoinToken other{std::byte{3}};
  EXPECT_EQ(keep_join_secret(answer(), other, folder_path_).detail(), security::kSealBroken);
  protocol::JoinAnswer moved = answer();
  moved.node = NodeId{5};
  EXPECT_EQ(keep_join_secret(moved, token_, folder_path_).detail(), security::kSealBroken);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(JoinSecretTest, IsNothingWhereTheClusterHasNone) {
  protocol::JoinAnswer without = answer();
  without.sealed_secret.clear();
  ASSERT_TRUE(keep_join_secret(without, token_, folder_path_).ok());
  EXPECT_FALSE(std::filesystem::exists(file()));
}

}  // namespace
}  // namespace gcoord::server
