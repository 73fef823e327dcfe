// Passwords and tokens do not go where others can read them: in plain TCP beyond loopback.
#include "client/members/join.h"
#include "client/net/failure.h"
#include "common/comma_list.h"
#include "gcoord/client.h"
#include "gcoord/gcoord.h"
#include "protocol/identities/authenticate_messages.h"
#include "protocol/identities/secret_kinds.h"
#include "protocol/lock_messages.h"
#include "security/credentials/session_key.h"
#include "tests/client/fake_cluster.h"
#include "tests/own_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::RequestKind;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::minutes kPatience{1};  // Only an end for a test that fails.

const Credentials kPassword{.user = "bob", .password = "a password of bob's"};
const Credentials kToken{.token = "a token of bob's"};

FakeReply answer_of(const FakeRequest& request) {
  FakeReply reply = friendly_reply(request);
  if (request.slot.kind == RequestKind::Authenticate) {
    reply.payload = protocol::text_of(protocol::encode_authenticated(
        {.principal = {security::PrincipalKind::User, "bob"}, .life_s = 3600, .token = "another"}));
  } else if (request.slot.kind == RequestKind::OpenSession) {
    const std::vector<std::byte> secret(std::size_t{32}, std::byte{7});
    reply.payload = protocol::text_of(security::SessionKey::derive(secret, SessionId{41}).bytes());
  }
  return reply;
}

class ExposedLoginTest : public testing::Test {
 protected:
  void SetUp() override {
    beyond_ = own_address_beyond_loopback().value_or("");
    if (beyond_.empty()) {
      GTEST_SKIP() << "this machine has no address beyond loopback";
    }
  }

  // Nodes at these hosts.
  FakeCluster& cluster_at(const std::vector<std::string>& hosts) {
    cluster_ = std::make_unique<FakeCluster>(static_cast<std::uint32_t>(hosts.size()), 16, hosts);
    cluster_->answer_with(&answer_of);
    return *cluster_;
  }

  FakeCluster& cluster_beyond() { return cluster_at({beyond_, beyond_, beyond_}); }

  ClientOptions options(const Credentials& credentials) const {
    return {.endpoints = cluster_->endpoints(),
            .credentials = credentials,
            .connect_timeout = kPatience,
            .request_timeout = kPatience,
            .seed = 1};
  }

  std::size_t logins() const { return cluster_->requests(RequestKind::Authenticate).size(); }

  std::string beyond_;
  std::unique_ptr<FakeCluster> cluster_;
};

TEST_F(ExposedLoginTest, IsRefusedInPlainTcpBeyondLoopback) {
  cluster_beyond();
  for (const Credentials& each : {kPassword, kToken}) {
    const auto client = Client::connect(options(each));
    ASSERT_FALSE(client.ok());
    EXPECT_EQ(client.status().detail(), 6685u);
    const std::string message = client.status().message();
    EXPECT_THAT(message, HasSubstr(cluster_->endpoints().front() + ": reached in plain TCP"));
    // How to mend it is said once, behind what is said of each node.
    const std::size_t at = message.find("--insecure-credentials");
    EXPECT_NE(at, std::string::npos);
    EXPECT_EQ(message.find("--insecure-credentials", at + 1), std::string::npos) << message;
  }
  EXPECT_EQ(logins(), 0u);
}

TEST_F(ExposedLoginTest, IsShownThereToWhomTheUserAllowsIt) {
  cluster_beyond();
  ClientOptions allowed = options(kPassword);
  allowed.insecure_credentials = true;
  auto client = Client::connect(allowed);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  EXPECT_TRUE(client.value().wait_for_all_nodes(kPatience).ok());
  EXPECT_EQ(client.value().identity().name, "bob");
  EXPECT_EQ(logins(), 3u);
}

TEST_F(ExposedLoginTest, IsShownOnLoopbackAlsoByAName) {
  cluster_at({"127.0.0.1"});
  ClientOptions named = options(kPassword);
  const std::string address = named.endpoints.front();
  named.endpoints = {"localhost" + address.substr(address.rfind(':'))};
  auto client = Client::connect(named);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  EXPECT_EQ(client.value().identity().name, "bob");
}

// Who has nothing to show is served as ever, and keys of sessions are shown: without them an open
// cluster would have no sessions.
TEST_F(ExposedLoginTest, WhoShowsNothingIsServedAndSessionsAreAttached) {
  cluster_beyond();
  auto client = Client::connect(options({}));
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  ASSERT_TRUE(client.value().wait_for_all_nodes(kPatience).ok());
  auto session = client.value().open_session({.ttl = kPatience});
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_TRUE(session.value().renew().ok());
  EXPECT_FALSE(cluster_->requests(RequestKind::SessionAttach).empty());
  EXPECT_EQ(logins(), 0u);
}

// Each connection counts by itself: one node is near, the others are not.
TEST_F(ExposedLoginTest, IsShownToTheNodeOnLoopbackAloneAndNoTokenFollows) {
  cluster_at({"127.0.0.1", beyond_, beyond_});
  ClientOptions near = options(kPassword);
  near.endpoints.resize(1);
  auto client = Client::connect(near);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  // The others are learned from the first.
  const auto refused = [&client] {
    const auto nodes = client.value().cluster().nodes;
    return std::ranges::count(nodes, 6685u, &NodeView::last_error_number);
  };
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (refused() < 2 && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_EQ(refused(), 2);
  for (const FakeRequest& login : cluster_->requests(RequestKind::Authenticate)) {
    EXPECT_EQ(login.node, NodeId{1});
  }
}

// The connection of watches begins at node 2, by the seed, and ends at the one that it may log in
// to.
TEST_F(ExposedLoginTest, WatchesGoToTheNodeOnLoopbackAndShowNothingToOthers) {
  cluster_at({"127.0.0.1", beyond_, beyond_});
  ClientOptions near = options(kPassword);
  near.endpoints.resize(1);
  auto client = Client::connect(near);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  // The fake answers no watch, so the call waits until the client ends.
  std::thread watching{[&client] { static_cast<void>(client.value().watch({.name = "a"})); }};
  for (const FakeRequest& opened : cluster_->wait_for(RequestKind::WatchOpen, 1)) {
    EXPECT_EQ(opened.node, NodeId{1});
  }
  for (const FakeRequest& login : cluster_->requests(RequestKind::Authenticate)) {
    EXPECT_EQ(login.node, NodeId{1});
  }
  EXPECT_TRUE(client.value().close().ok());
  watching.join();
}

// Who sets somebody's password sends it, too.
TEST_F(ExposedLoginTest, APasswordIsNotSetInPlainTcpBeyondLoopback) {
  cluster_beyond();
  AccessChange change;
  change.action = AccessAction::UserAdd;
  change.name = "eve";
  change.password = "a password of eve's";
  {
    auto client = Client::connect(options({}));
    ASSERT_TRUE(client.ok()) << client.status().to_string();
    const auto refused = client.value().change_access(change);
    EXPECT_EQ(refused.status().detail(), 6685u) << refused.status().to_string();
    EXPECT_TRUE(cluster_->requests(RequestKind::AccessChange).empty());
    AccessChange without = change;
    without.password.clear();
    static_cast<void>(client.value().change_access(without));
    EXPECT_EQ(cluster_->requests(RequestKind::AccessChange).size(), 1u);
  }
  ClientOptions allowed = options({});
  allowed.insecure_credentials = true;
  auto client = Client::connect(allowed);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  static_cast<void>(client.value().change_access(change));
  const auto sent = cluster_->requests(RequestKind::AccessChange);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_THAT(sent[1].payload, HasSubstr(change.password));
  EXPECT_THAT(sent[0].payload, Not(HasSubstr(change.password)));
}

// Who reads the token and the answer has the cluster's secret.
TEST_F(ExposedLoginTest, AJoinTokenDoesNotGoOutInPlainTcpBeyondLoopback) {
  EXPECT_TRUE(protocol::request_has_secret(RequestKind::MemberJoin));
  EXPECT_TRUE(protocol::reply_has_secret(RequestKind::MemberJoin));
  const protocol::JoinRequest request{
      .token = {std::byte{1}}, .directory = 1, .peer_address = "127.0.0.1:7500"};
  cluster_beyond();
  const auto refused = join_cluster(options({}), request);
  EXPECT_EQ(refused.status().detail(), 6685u) << refused.status().to_string();
  EXPECT_TRUE(cluster_->requests(RequestKind::MemberJoin).empty());
  ClientOptions allowed = options({});
  allowed.insecure_credentials = true;
  EXPECT_NE(join_cluster(allowed, request).status().detail(), 6685u);
  EXPECT_EQ(cluster_->requests(RequestKind::MemberJoin).size(), 1u);
  cluster_at({"127.0.0.1"});
  EXPECT_NE(join_cluster(options({}), request).status().detail(), 6685u);
  EXPECT_EQ(cluster_->requests(RequestKind::MemberJoin).size(), 1u);
}

TEST_F(ExposedLoginTest, IsRefusedAndAllowedByTheCInterface) {
  cluster_beyond();
  const std::string endpoints = comma_list(cluster_->endpoints());
  gcoord_client_options options;
  gcoord_client_options_init(&options);
  EXPECT_FALSE(options.insecure_credentials);
  options.endpoints = endpoints.c_str();
  options.user = "bob";
  options.password = "a password of bob's";
  gcoord_client* client = nullptr;
  gcoord_error error{};
  EXPECT_EQ(gcoord_client_connect(&options, &client, &error), GCOORD_FAILED_PRECONDITION);
  EXPECT_EQ(error.number, 6685u) << error.message;
  EXPECT_EQ(logins(), 0u);
  options.insecure_credentials = true;
  EXPECT_EQ(gcoord_client_connect(&options, &client, &error), GCOORD_OK) << error.message;
  gcoord_client_free(client);
  EXPECT_GE(logins(), 1u);
}

}  // namespace
}  // namespace gcoord::client
