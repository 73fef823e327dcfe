// What a client does before a node ends its connections with the token that proved them.
#include "client/nodes/node_login.h"
#include "protocol/identities/authenticate_messages.h"
#include "protocol/lock_messages.h"
#include "tests/client/client_fixture.h"
#include "tests/client/fake_watches.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using protocol::AuthenticateMethod;
using protocol::ErrorCode;
using protocol::RequestKind;

class LoginRenewalTest : public ClientTest {
 protected:
  void SetUp() override {
    request_timeout_ = std::chrono::hours{1};  // Answers come by real time.
    cluster_.answer_with(
        [this, others = watches({}, {})](const FakeRequest& request) -> std::optional<FakeReply> {
          return request.slot.kind == RequestKind::Authenticate ? hear(request) : others(request);
        });
  }

  std::optional<FakeReply> hear(const FakeRequest& request) {
    if (first_hangs_ && request.node == NodeId{1}) {
      return std::nullopt;
    }
    if (lets_one_wait_.exchange(false)) {
      waiting_ = request;
      return std::nullopt;
    }
    if (waiting_ && waiting_->node == request.node) {
      FakeReply late = error_reply(*std::exchange(waiting_, std::nullopt), ErrorCode::TokenExpired);
      late.then = {token_for(request)};
      answered_late_ = true;
      return late;
    }
    if (refusal_.load() != ErrorCode::None && method_of(request) == AuthenticateMethod::Token) {
      return error_reply(request, refusal_);
    }
    return token_for(request);
  }

  FakeReply token_for(const FakeRequest& request) {
    FakeReply reply = ok_reply(request);
    reply.payload = protocol::text_of(protocol::encode_authenticated(
        {.principal = {security::PrincipalKind::User, "bob"},
         .life_s = method_of(request) == AuthenticateMethod::Password ? 600 : life_s_.load(),
         .token = "token " + std::to_string(++tokens_)}));
    return reply;
  }

  static AuthenticateMethod method_of(const FakeRequest& request) {
    return protocol::decode_authenticate(protocol::bytes_of(request.payload)).value().method;
  }

  Client connect_as_bob() {
    ClientOptions as_bob = options();
    as_bob.credentials = {.user = "bob", .password = "a password of bob's"};
    auto client = Client::connect(as_bob);
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    Client connected = std::move(client).value();
    EXPECT_TRUE(connected.wait_for_all_nodes(std::chrono::minutes{1}).ok());
    logins_ = cluster_.requests(RequestKind::Authenticate).size();
    EXPECT_EQ(logins_, 3u);
    return connected;
  }

  // Time goes by, and the client looks at it after each step.
  void pass(Client& client, std::chrono::seconds time) {
    for (std::chrono::seconds gone{}; gone < time; ++gone) {
      clock_->advance(std::chrono::seconds{1});
      static_cast<void>(client.statistics());
    }
  }

  // Until nodes have given so many tokens; a failure ends it.
  void pass_until_given(Client& client, int tokens) {
    for (int step = 0; step < 100'000 && tokens_ < tokens; ++step) {
      pass(client, std::chrono::seconds{1});
      std::this_thread::yield();
    }
    EXPECT_GE(tokens_, tokens);
  }

  // The logins since the last call, so many at least.
  std::vector<FakeRequest> logins(std::size_t count = 0) {
    auto all = cluster_.wait_for(RequestKind::Authenticate, logins_ + count);
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(logins_));
    logins_ += all.size();
    return all;
  }

  static std::vector<NodeId> nodes_of(const std::vector<FakeRequest>& requests) {
    std::vector<NodeId> nodes;
    for (const FakeRequest& each : requests) {
      nodes.push_back(each.node);
    }
    std::ranges::sort(nodes, {}, &NodeId::value);
    return nodes;
  }

  static std::ptrdiff_t passwords_in(const std::vector<FakeRequest>& requests) {
    return std::ranges::count_if(requests, [](const FakeRequest& each) {
      return method_of(each) == AuthenticateMethod::Password;
    });
  }

  const std::vector<NodeId> all_nodes_{NodeId{1}, NodeId{2}, NodeId{3}};
  std::atomic<std::uint32_t> life_s_{600};
  std::atomic<ErrorCode> refusal_{ErrorCode::None};
  std::atomic<int> tokens_{0};
  std::atomic<bool> first_hangs_{false};  // Node 1 answers no login.
  std::atomic<bool> lets_one_wait_{
      false};  // The next login has no answer but with the one behind it.
  std::atomic<bool> answered_late_{false};
  std::optional<FakeRequest> waiting_;  // The cluster's thread only.
  std::size_t logins_ = 0;
};

// A node ends each connection with the token that it was shown there.
TEST_F(LoginRenewalTest, EachConnectionShowsItsLoginAgainBeforeItsTimeIsOver) {
  Client client = connect_as_bob();
  pass(client, std::chrono::seconds{320});
  EXPECT_TRUE(logins().empty()) << "nodes renew a token from half its time on";
  for (int round = 0; round < 2; ++round) {
    pass(client, std::chrono::seconds{round == 0 ? 135 : 455});
    const auto again = logins(3);
    EXPECT_EQ(nodes_of(again), all_nodes_);
    EXPECT_EQ(passwords_in(again), 0);
    pass_until_given(client, 6 + 3 * round);
  }
  EXPECT_EQ(client.statistics().reconnects, 0u);
}

TEST_F(LoginRenewalTest, APasswordReplacesATokenThatNodesRenewNoMore) {
  Client client = connect_as_bob();
  life_s_ = 100;
  pass_until_given(client, 9);
  const auto passwords = passwords_in(logins());
  EXPECT_GE(passwords, 1);
  EXPECT_LE(passwords, 3) << "one for each node that said so";
  EXPECT_EQ(client.statistics().reconnects, 0u);
}

TEST_F(LoginRenewalTest, ARenewalThatIsRefusedForNowIsTriedAgainAndEndsNothing) {
  Client client = connect_as_bob();
  refusal_ = ErrorCode::AuthenticationBusy;
  pass(client, std::chrono::seconds{455});
  EXPECT_EQ(passwords_in(logins(3)), 0);
  EXPECT_TRUE(client.check("a", 7).ok());
  refusal_ = ErrorCode::None;
  pass_until_given(client, 6);
  EXPECT_EQ(client.statistics().reconnects, 0u);
}

TEST_F(LoginRenewalTest, ATokenThatIsTakenNoMoreIsReplacedByThePasswordOnTheSameConnection) {
  Client client = connect_as_bob();
  refusal_ = ErrorCode::TokenRevoked;
  pass_until_given(client, 6);
  EXPECT_GE(passwords_in(logins()), 3);
  EXPECT_TRUE(client.check("a", 7).ok());
  EXPECT_EQ(client.statistics().reconnects, 0u);
}

// Watches have a connection of their own, which no node ends meanwhile: they are not opened again.
TEST_F(LoginRenewalTest, TheConnectionOfWatchesShowsItsLoginAgainAndServesOn) {
  Client client = connect_as_bob();
  const auto watch = client.watch({.prefix = ""});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  const NodeId watched = cluster_.wait_for(RequestKind::WatchOpen, 1).front().node;
  EXPECT_EQ(nodes_of(logins(1)), std::vector<NodeId>{watched});
  pass(client, std::chrono::seconds{455});
  const auto again = logins(4);
  auto expected = all_nodes_;
  expected.push_back(watched);
  std::ranges::sort(expected, {}, &NodeId::value);
  EXPECT_EQ(nodes_of(again), expected);
  EXPECT_EQ(passwords_in(again), 0);
  EXPECT_EQ(cluster_.requests(RequestKind::WatchOpen).size(), 1u);
}

// What a node says at last to the token of before says nothing of those that came since.
TEST_F(LoginRenewalTest, ALateAnswerIsTakenForTheTokenThatItIsAbout) {
  request_timeout_ = std::chrono::minutes{5};
  Client client = connect_as_bob();
  lets_one_wait_ = true;
  pass(client, std::chrono::seconds{455});
  EXPECT_EQ(nodes_of(logins(3)), all_nodes_);
  pass_until_given(client, 5);
  for (int step = 0; step < 100'000 && !answered_late_; ++step) {
    pass(client, std::chrono::seconds{1});
    std::this_thread::yield();
  }
  ASSERT_TRUE(answered_late_);
  pass_until_given(client, tokens_ + 6);
  EXPECT_EQ(passwords_in(logins()), 0);
  EXPECT_EQ(client.statistics().reconnects, 0u);
}

// It says nothing of the token that the node has no place now, or takes no request: nodes are left
// alone for 30 s after a login that they refuse, which ends sessions.
class LoginOfTheMomentTest : public LoginRenewalTest,
                             public ::testing::WithParamInterface<ErrorCode> {};

INSTANTIATE_TEST_SUITE_P(Refusals,
                         LoginOfTheMomentTest,
                         ::testing::Values(ErrorCode::ConnectionsExhausted,
                                           ErrorCode::IdentityConnectionsFull,
                                           ErrorCode::RateExceeded,
                                           ErrorCode::Overloaded,
                                           ErrorCode::ShuttingDown,
                                           ErrorCode::NotReady));

TEST_P(LoginOfTheMomentTest, ANodeThatTakesNothingNowIsTriedAgainBeforeLong) {
  Client client = connect_as_bob();
  refusal_ = GetParam();
  cluster_.stop_node(NodeId{1});
  settle_until(client, [](const ClientStatistics& counted) { return counted.reconnects > 0; });
  cluster_.start_node(NodeId{1});
  advance_until(client, std::chrono::seconds{1}, [this](const ClientStatistics&) {
    return cluster_.requests(RequestKind::Authenticate).size() > logins_;
  });
  while (cluster_.is_connected(NodeId{1})) {
    std::this_thread::yield();
  }
  static_cast<void>(client.statistics());  // Its thread is behind the refusal now.
  refusal_ = ErrorCode::None;
  static_cast<void>(logins());
  clock_->advance(std::chrono::seconds{20});
  static_cast<void>(client.statistics());
  EXPECT_EQ(nodes_of(logins(1)), std::vector<NodeId>{NodeId{1}});
}

// One silence may be a node that is busy; a second one is a node that hangs, and nobody waits for
// it.
TEST_F(LoginRenewalTest, ANodeThatAnswersNoLoginCountsAsFailedFromTheSecondOn) {
  Client client = connect_as_bob();
  const auto logins_of_first = [this] {
    return std::ranges::count(
        cluster_.requests(RequestKind::Authenticate), NodeId{1}, &FakeRequest::node);
  };
  const auto first = [&client] { return client.cluster().nodes.front(); };
  first_hangs_ = true;
  cluster_.stop_node(NodeId{1});
  settle_until(client, [](const ClientStatistics& counted) { return counted.reconnects > 0; });
  cluster_.start_node(NodeId{1});
  for (int silence = 0; silence < 2; ++silence) {
    const auto before = logins_of_first();
    advance_until(client, std::chrono::seconds{1}, [&](const ClientStatistics&) {
      return logins_of_first() > before;
    });
    while (first().last_error_number != 6532u) {  // The Welcome is there, and the login waits.
      std::this_thread::yield();
    }
    clock_->advance(options().connect_timeout);
    while (cluster_.is_connected(NodeId{1})) {
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(first().last_error_number, 6532u);
  auto listing = std::async(std::launch::async, [&client] { return client.list({}).ok(); });
  EXPECT_EQ(listing.wait_for(std::chrono::minutes{1}), std::future_status::ready)
      << "a list waits for nodes that have not been tried yet";
  clock_->advance(std::chrono::hours{1});
  listing.wait();
}

}  // namespace
}  // namespace gcoord::client
