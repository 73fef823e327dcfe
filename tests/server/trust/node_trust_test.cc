#include "server/trust/node_trust.h"

#include "protocol/error_codes.h"
#include "security/secret/errors.h"
#include "security/secret/file.h"
#include "tests/scratch_folder.h"
#include "tests/security/certificates.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using netcore::ProofDemand;
using security::ClusterSecret;

class NodeTrustTest : public testing::Test {
 protected:
  NodeTrustTest() { options_.data_dir = folder_.path("node"); }

  void SetUp() override { std::filesystem::create_directory(options_.data_dir); }

  std::string own_file() const { return options_.data_dir + "/cluster.secret"; }

  static void write(const std::string& path, const ClusterSecret& secret) {
    ASSERT_TRUE(security::write_secret_file(path, secret.to_text().bytes()).ok());
  }

  std::unique_ptr<NodeTrust> open() const {
    auto trust = NodeTrust::open(options_);
    EXPECT_TRUE(trust.ok()) << trust.status().to_string();
    return std::move(trust).value();
  }

  const ScratchFolder folder_;
  NodeOptions options_;
};

TEST_F(NodeTrustTest, WithoutASecretNothingIsDemanded) {
  options_.peer_proof = PeerProof::Permissive;
  const auto trust = open();
  EXPECT_EQ(trust->secret(), nullptr);
  EXPECT_EQ(trust->peer_proof().source->current().second, ProofDemand::Off);
}

TEST_F(NodeTrustTest, ASecretInTheDataDirectoryIsUsedAndProofsAreRequired) {
  const ClusterSecret secret = ClusterSecret::generate();
  write(own_file(), secret);
  const auto trust = open();
  ASSERT_NE(trust->secret(), nullptr);
  EXPECT_EQ(trust->secret()->id(), secret.id());
  const auto [keys, demand] = trust->peer_proof().source->current();
  EXPECT_EQ(demand, ProofDemand::Required);
  EXPECT_EQ(keys.ids(), netcore::ProofKeys{secret}.ids());
}

TEST_F(NodeTrustTest, ANamedFileCountsBeforeTheDataDirectorysAndMustBeThere) {
  const ClusterSecret named = ClusterSecret::generate();
  write(own_file(), ClusterSecret::generate());
  options_.cluster_secret = folder_.path("secret");
  EXPECT_EQ(NodeTrust::open(options_).status().detail(), security::kSecretFileUnreadable);
  write(options_.cluster_secret, named);
  EXPECT_EQ(open()->secret()->id(), named.id());
}

TEST_F(NodeTrustTest, RequiredProofsNeedASecret) {
  options_.peer_proof = PeerProof::Required;
  EXPECT_EQ(NodeTrust::open(options_).status().detail(),
            static_cast<std::uint32_t>(protocol::ErrorCode::SecretMissing));
}

TEST_F(NodeTrustTest, AReloadTakesWhatIsThereOrLeavesAllAsItWas) {
  options_.peer_proof = PeerProof::Permissive;
  const auto trust = open();
  const auto source = trust->peer_proof().source;
  const std::uint64_t before = source->version();
  const ClusterSecret secret = ClusterSecret::generate();
  write(own_file(), secret);
  ASSERT_TRUE(trust->reload(options_).ok());
  EXPECT_GT(source->version(), before);
  EXPECT_EQ(source->current().second, ProofDemand::Permissive);
  ASSERT_TRUE(security::write_secret_file(own_file(), {}).ok());
  EXPECT_EQ(trust->reload(options_).detail(), security::kSecretMalformed);
  EXPECT_EQ(trust->secret()->id(), secret.id());
  EXPECT_EQ(source->current().second, ProofDemand::Permissive);
}

TEST_F(NodeTrustTest, ASecretThatCannotBeReadDoesNotKeepTheModeOfTls) {
  options_.peer_proof = PeerProof::Permissive;
  const auto trust = open();
  TestAuthority authority;
  write_private(folder_.path("ca.crt"), authority.certificate());
  write_certificate(
      folder_.path().string(), "node", authority.issue({.names = {"URI:gcoord://7/node/1"}}));
  options_.tls.peer = TlsMode::Required;
  options_.tls.files = {.certificate = folder_.path("node.crt"),
                        .key = folder_.path("node.key"),
                        .authority = folder_.path("ca.crt"),
                        .revoked = {}};
  ASSERT_TRUE(security::write_secret_file(own_file(), {}).ok());
  EXPECT_EQ(trust->reload(options_).detail(), security::kSecretMalformed);
  EXPECT_EQ(trust->peer_tls()->mode(), netcore::LinkTlsMode::Required);
}

TEST_F(NodeTrustTest, TlsWithPeersFollowsFilesAndMode) {
  options_.peer_proof = PeerProof::Permissive;
  const auto trust = open();
  // Whoever has the rules from the start sees the files that a reload brings.
  const auto rules = trust->peer_tls();
  ASSERT_NE(rules, nullptr);
  EXPECT_EQ(rules->mode(), netcore::LinkTlsMode::Off);
  trust->look(1000);
  options_.tls.peer = TlsMode::Required;
  EXPECT_EQ(trust->reload(options_).detail(),
            static_cast<std::uint32_t>(protocol::ErrorCode::TlsFilesIncomplete));
  TestAuthority authority;
  write_private(folder_.path("ca.crt"), authority.certificate());
  write_certificate(
      folder_.path().string(), "node", authority.issue({.names = {"URI:gcoord://7/node/1"}}));
  options_.tls.files = {.certificate = folder_.path("node.crt"),
                        .key = folder_.path("node.key"),
                        .authority = folder_.path("ca.crt"),
                        .revoked = {}};
  ASSERT_TRUE(trust->reload(options_).ok());
  EXPECT_EQ(rules->mode(), netcore::LinkTlsMode::Required);
  EXPECT_EQ(trust->peer_tls(), rules);
  const auto before = trust->peer_tls()->called();
  write_certificate(
      folder_.path().string(), "node", authority.issue({.names = {"URI:gcoord://7/node/1"}}));
  trust->look(10'000);
  EXPECT_NE(trust->peer_tls()->called(), before);
  write_private(folder_.path("node.crt"), "nothing");
  trust->look(20'000);
  EXPECT_NE(trust->peer_tls()->called(), nullptr);
  EXPECT_FALSE(trust->reload(options_).ok());
  EXPECT_EQ(trust->peer_tls()->mode(), netcore::LinkTlsMode::Required);
  options_.tls.peer = TlsMode::Off;
  ASSERT_TRUE(trust->reload(options_).ok()) << "off needs no files";
  EXPECT_EQ(rules->mode(), netcore::LinkTlsMode::Off);
  options_.tls = {};
  ASSERT_TRUE(trust->reload(options_).ok());
  EXPECT_EQ(rules->mode(), netcore::LinkTlsMode::Off);
}

TEST_F(NodeTrustTest, WhoHasProvenItselfIsRememberedInTheDirectory) {
  open()->peer_proof().on_proven(NodeId{7});
  open()->peer_proof().on_proven(NodeId{2});
  open()->peer_proof().on_proven(NodeId{7});
  EXPECT_EQ(open()->peer_proof().proven, (std::vector<NodeId>{NodeId{2}, NodeId{7}}));
}

TEST_F(NodeTrustTest, AMemoryThatCannotBeReadIsNone) {
  const std::string text = "x\n-1\n\n99999999\n5\n";
  ASSERT_TRUE(security::write_secret_file(options_.data_dir + "/proven.nodes",
                                          std::as_bytes(std::span{text}))
                  .ok());
  EXPECT_EQ(ProvenNodes(options_.data_dir).nodes(), (std::vector<NodeId>{NodeId{5}}));
}

TEST_F(NodeTrustTest, TheDirectoryThatTakesAnothersPlaceGetsItsSecret) {
  const std::string next = folder_.path("next");
  std::filesystem::create_directory(next);
  ASSERT_TRUE(carry_secret(options_.data_dir, next).ok());
  EXPECT_FALSE(std::filesystem::exists(next + "/cluster.secret"));
  const ClusterSecret secret = ClusterSecret::generate();
  write(own_file(), secret);
  ASSERT_TRUE(carry_secret(options_.data_dir, next).ok());
  EXPECT_EQ(ClusterSecret::read(next + "/cluster.secret").value().id(), secret.id());
  ASSERT_TRUE(carry_secret(options_.data_dir, next).ok());  // Again.
}

}  // namespace
}  // namespace gcoord::server
