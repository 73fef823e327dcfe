// TLS between nodes, on sockets of this host: who has a certificate that names the node gets a
// channel, and nobody else does.
#include "netcore/peers/network.h"
#include "netcore/tls/rules.h"
#include "tests/netcore/frame_samples.h"
#include "tests/netcore/loopback_world.h"
#include "tests/netcore/network_world.h"
#include "tests/scratch_folder.h"
#include "tests/security/certificates.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::netcore {
namespace {

class PeerTlsTest : public testing::Test {
 protected:
  PeerTlsTest() { write_private(folder_.path("ca.crt"), authority_.certificate()); }

  // Of a node with a certificate for this URI.
  std::shared_ptr<LinkTlsRules> rules(LinkTlsMode mode, const std::string& uri) {
    return rules_of(mode, uri, authority_);
  }

  std::shared_ptr<LinkTlsRules> rules_of(LinkTlsMode mode,
                                         const std::string& uri,
                                         TestAuthority& authority) {
    auto made = LinkTlsRules::open(mode, files_of(uri, authority));
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made.ok() ? made.value() : nullptr;
  }

  security::TlsFiles files(const std::string& uri) { return files_of(uri, authority_); }

  security::TlsFiles files_of(const std::string& uri, TestAuthority& authority) {
    const std::string name = "node" + std::to_string(++count_);
    write_certificate(folder_.path().string(),
                      name,
                      authority.issue({.common_name = name, .names = {"URI:" + uri}}));
    return {.certificate = folder_.path(name + ".crt"),
            .key = folder_.path(name + ".key"),
            .authority = folder_.path("ca.crt"),
            .revoked = {}};
  }

  // Node 1 calls node 2.
  void start(std::shared_ptr<LinkTlsRules> caller,
             std::shared_ptr<LinkTlsRules> called,
             PeerProofOptions proof = {}) {
    PeerNetworkOptions second = node_options(2, {{NodeId{1}, "127.0.0.1", 0}});
    second.proof = std::move(proof);
    second.tls = std::move(called);
    second_.network = must_create(std::move(second));
    PeerNetworkOptions first =
        node_options(1, {{NodeId{2}, "127.0.0.1", second_.network->listen_port()}});
    first.tls = std::move(caller);
    first_.network = must_create(std::move(first));
  }

  bool run(const std::function<bool()>& done) { return run_awake({&first_, &second_}, done); }

  bool up() { return first_.network->is_up(NodeId{2}) && second_.network->is_up(NodeId{1}); }

  std::string route() { return first_.network->status()[0].transport; }

  std::string error_of(TestNode& node) { return node.network->status()[0].last_error; }

  bool shows(TestNode& node, const char* text) {
    return error_of(node).find(text) != std::string::npos;
  }

  LinkState state_of(TestNode& node) { return node.network->status()[0].state; }

  const ScratchFolder folder_;
  TestAuthority authority_;
  int count_ = 0;
  TestNode first_;
  TestNode second_;
};

TEST_F(PeerTlsTest, NodesWithCertificatesOfTheirNamesMeetAndExchangeLargeFrames) {
  start(rules(LinkTlsMode::Required, "gcoord://42/node/1"),
        rules(LinkTlsMode::Required, "spiffe://example.org/gcoord/42/node/2"));
  ASSERT_TRUE(run([&] { return up(); }));
  EXPECT_NE(route().find("with tls"), std::string::npos) << route();
  const auto bytes = sample_bytes(1, 60'000);
  std::vector<PayloadExtent> extents;
  for (std::uint32_t k = 0; k < 100; ++k) {
    extents.push_back({k, bytes});
  }
  ASSERT_TRUE(first_.network->send(NodeId{2}, Band::Consensus, slots(100), extents));
  ASSERT_TRUE(second_.network->send(NodeId{1}, Band::Rpc, slots(1)));
  ASSERT_TRUE(run([&] { return second_.sink.slot_count == 100 && first_.sink.slot_count == 1; }));
  EXPECT_EQ(second_.sink.payload_bytes, 6'000'000u);
  EXPECT_TRUE(first_.sink.downs.empty());
}

TEST_F(PeerTlsTest, ACertificateOfAnotherNodeOrClusterIsRefused) {
  for (const char* uri : {"gcoord://42/node/3", "gcoord://43/node/2"}) {
    start(rules(LinkTlsMode::Required, "gcoord://42/node/1"), rules(LinkTlsMode::Required, uri));
    ASSERT_TRUE(run([&] { return error_of(first_).find("GC3129") != std::string::npos; })) << uri;
    EXPECT_TRUE(first_.sink.ups.empty());
  }
  // The node that calls has the wrong one; before, it was let in and went away itself.
  const std::size_t before = second_.sink.ups.size();
  start(rules(LinkTlsMode::Required, "gcoord://42/node/7"),
        rules(LinkTlsMode::Required, "gcoord://42/node/2"));
  ASSERT_TRUE(run([&] { return error_of(second_).find("GC3129") != std::string::npos; }));
  EXPECT_EQ(second_.sink.ups.size(), before);
}

TEST_F(PeerTlsTest, ACertificateThatIsNoNodesHasANumberOfItsOwn) {
  start(rules(LinkTlsMode::Required, "gcoord://42/node/1"),
        rules(LinkTlsMode::Required, "gcoord://42/user/2"));
  ASSERT_TRUE(run([&] { return shows(first_, "GC6739"); }));
  EXPECT_TRUE(first_.sink.ups.empty());
}

TEST_F(PeerTlsTest, ACertificateOfAnotherAuthorityIsRefused) {
  TestAuthority other{"somebody"};
  start(rules(LinkTlsMode::Required, "gcoord://42/node/1"),
        rules_of(LinkTlsMode::Required, "gcoord://42/node/2", other));
  ASSERT_TRUE(run([&] { return shows(first_, "GC3103"); }));
  EXPECT_EQ(state_of(first_), LinkState::Refused);
  EXPECT_FALSE(shows(first_, "GC3125")) << "nobody should look for the secret";
  EXPECT_TRUE(first_.sink.ups.empty());
}

// The node that calls has the bad one: it hears why, and the one that refuses it has its address.
TEST_F(PeerTlsTest, WhoIsRefusedHearsWhyAndWhoRefusesReportsTheAddress) {
  struct Case {
    CertificateWish wish;
    bool is_foreign;
    DropReason reason;
    const char* number;
    const char* own_number;
  };

  const std::vector<std::string> names = {"URI:gcoord://42/node/1"};
  TestAuthority other{"somebody"};
  for (const Case& bad :
       {Case{{.names = names, .begins_in_s = -7200, .ends_in_s = -60},
             false,
             DropReason::CertificateExpired,
             "GC3104",
             "GC6735"},
        Case{{.names = names}, true, DropReason::CertificateUntrusted, "GC3103", "GC6737"}}) {
    std::vector<std::string> seen;
    PeerProofOptions proof;
    proof.on_dropped = [&](const DroppedStranger& dropped) {
      if (dropped.reason == bad.reason) {
        seen.push_back(std::string{dropped.address} + " " + dropped.text);
      }
    };
    write_certificate(
        folder_.path().string(), "bad", (bad.is_foreign ? other : authority_).issue(bad.wish));
    auto caller = LinkTlsRules::open(LinkTlsMode::Required,
                                     {.certificate = folder_.path("bad.crt"),
                                      .key = folder_.path("bad.key"),
                                      .authority = folder_.path("ca.crt"),
                                      .revoked = {}});
    ASSERT_TRUE(caller.ok());
    start(caller.value(), rules(LinkTlsMode::Required, "gcoord://42/node/2"), std::move(proof));
    ASSERT_TRUE(run([&] { return shows(first_, bad.own_number) && !seen.empty(); }))
        << bad.own_number << ": " << error_of(first_);
    EXPECT_EQ(seen[0].rfind("127.0.0.1", 0), 0u) << seen[0];
    EXPECT_NE(seen[0].find(bad.number), std::string::npos) << seen[0];
    EXPECT_GT(second_.network->dropped_from_strangers()[static_cast<std::size_t>(bad.reason)], 0u);
    EXPECT_TRUE(second_.sink.ups.empty());
  }
}

TEST_F(PeerTlsTest, JunkIsReportedWithItsAddress) {
  std::string seen;
  PeerProofOptions proof;
  proof.on_dropped = [&](const DroppedStranger& dropped) { seen = dropped.address; };
  start(nullptr, rules(LinkTlsMode::Required, "gcoord://42/node/2"), std::move(proof));
  ASSERT_TRUE(run([&] { return !seen.empty(); }));
  EXPECT_EQ(seen.rfind("127.0.0.1", 0), 0u) << seen;
}

// Both ends look at their own lists; the link of a node that is not revoked goes on.
TEST_F(PeerTlsTest, ALinkEndsOnceTheCertificateAtItsOtherEndIsRevoked) {
  const std::string list = folder_.path("list.pem");
  write_private(list, authority_.revoke({}));
  const auto made = authority_.issue({.common_name = "first", .names = {"URI:gcoord://42/node/1"}});
  write_certificate(folder_.path().string(), "first", made);
  security::TlsFiles second = files("gcoord://42/node/2");
  second.revoked = list;
  auto called = LinkTlsRules::open(LinkTlsMode::Required, second);
  auto caller = LinkTlsRules::open(LinkTlsMode::Required,
                                   {.certificate = folder_.path("first.crt"),
                                    .key = folder_.path("first.key"),
                                    .authority = folder_.path("ca.crt"),
                                    .revoked = {}});
  ASSERT_TRUE(called.ok() && caller.ok());
  start(caller.value(), called.value());
  ASSERT_TRUE(run([&] { return up(); }));
  write_private(list, authority_.revoke({made.serial + 100}));
  ASSERT_TRUE(called.value()->refresh().ok());
  ASSERT_TRUE(first_.network->send(NodeId{2}, Band::Rpc, slots(1)));
  ASSERT_TRUE(run([&] { return second_.sink.slot_count == 1; }));
  EXPECT_TRUE(second_.sink.downs.empty());
  write_private(list, authority_.revoke({made.serial}));
  ASSERT_TRUE(called.value()->refresh().ok());
  ASSERT_TRUE(run([&] { return !second_.sink.downs.empty() && shows(first_, "GC6736"); }))
      << error_of(first_);
  EXPECT_NE(second_.sink.downs[0].second.find("GC3105"), std::string::npos);
  EXPECT_EQ(second_.sink.ups.size(), 1u);
}

TEST_F(PeerTlsTest, WithoutTlsNobodyIsMetWhereItIsRequired) {
  start(nullptr, rules(LinkTlsMode::Required, "gcoord://42/node/2"));
  ASSERT_TRUE(run([&] {
    const auto& drops = second_.network->dropped_from_strangers();
    return drops[static_cast<std::size_t>(DropReason::Unproven)] > 0;
  }));
  EXPECT_TRUE(second_.sink.ups.empty());
  start(rules(LinkTlsMode::Required, "gcoord://42/node/1"), nullptr);
  ASSERT_TRUE(run([&] { return !error_of(first_).empty(); }));
  EXPECT_TRUE(first_.sink.ups.empty());
}

// Without files at first, as a node that began in plain text.
TEST_F(PeerTlsTest, FilesThatComeLaterBringTlsToNodesThatLive) {
  const auto caller = LinkTlsRules::none();
  const auto called = LinkTlsRules::none();
  start(caller, called);
  ASSERT_TRUE(run([&] { return up(); }));
  EXPECT_EQ(route().find("with tls"), std::string::npos) << route();
  EXPECT_TRUE(caller->refresh().ok());
  ASSERT_TRUE(caller->change(LinkTlsMode::Required, files("gcoord://42/node/1")).ok());
  ASSERT_TRUE(called->change(LinkTlsMode::Required, files("gcoord://42/node/2")).ok());
  ASSERT_TRUE(run([&] { return up() && route().find("with tls") != std::string::npos; }));
}

TEST_F(PeerTlsTest, FromOffOverPermissiveToRequired) {
  start(rules(LinkTlsMode::Permissive, "gcoord://42/node/1"), nullptr);
  ASSERT_TRUE(run([&] { return up(); }));
  EXPECT_EQ(route().find("with tls"), std::string::npos) << route();
  start(nullptr, rules(LinkTlsMode::Permissive, "gcoord://42/node/2"));
  ASSERT_TRUE(run([&] { return up(); }));
  const auto caller = rules(LinkTlsMode::Off, "gcoord://42/node/1");
  const auto called = rules(LinkTlsMode::Permissive, "gcoord://42/node/2");
  start(caller, called);
  ASSERT_TRUE(run([&] { return up(); }));
  EXPECT_EQ(route().find("with tls"), std::string::npos) << route();
  caller->set_mode(LinkTlsMode::Required);
  called->set_mode(LinkTlsMode::Required);
  ASSERT_TRUE(run([&] { return up() && route().find("with tls") != std::string::npos; }));
}

TEST_F(PeerTlsTest, FilesThatComeWhileTheNodesRunAreUsed) {
  const auto caller = LinkTlsRules::none();
  const auto called = LinkTlsRules::none();
  EXPECT_TRUE(caller->refresh().ok());
  start(caller, called);
  ASSERT_TRUE(run([&] { return up(); }));
  const auto files = [&](int node) {
    const std::string name = "late" + std::to_string(node);
    write_certificate(
        folder_.path().string(),
        name,
        authority_.issue(
            {.common_name = name, .names = {"URI:gcoord://42/node/" + std::to_string(node)}}));
    return security::TlsFiles{.certificate = folder_.path(name + ".crt"),
                              .key = folder_.path(name + ".key"),
                              .authority = folder_.path("ca.crt"),
                              .revoked = {}};
  };
  EXPECT_FALSE(called->change(LinkTlsMode::Required, {}).ok());
  EXPECT_EQ(called->mode(), LinkTlsMode::Off);
  ASSERT_TRUE(called->change(LinkTlsMode::Required, files(2)).ok());
  ASSERT_TRUE(caller->change(LinkTlsMode::Required, files(1)).ok());
  ASSERT_TRUE(run([&] { return up() && route().find("with tls") != std::string::npos; }));
}

}  // namespace
}  // namespace gcoord::netcore
