// How many round trips a client needs before a node serves it again: a token goes out with the
// Hello, and everything else once the node knows who this is.
#include "client/nodes/node_login.h"

#include "protocol/identities/authenticate_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/session_messages.h"
#include "protocol/watch_messages.h"
#include "tests/client/client_fixture.h"

#include <algorithm>
#include <atomic>
#include <future>

namespace gcoord::client {
namespace {

using protocol::AuthenticateMethod;
using protocol::RequestKind;

class ReconnectTest : public ClientTest {
 protected:
  void SetUp() override {
    cluster_.answer_with([this](const FakeRequest& request) -> std::optional<FakeReply> {
      if (request.slot.kind == RequestKind::Authenticate) {
        return logins_answered_ ? std::optional(authenticated(request)) : std::nullopt;
      }
      FakeReply reply = friendly_reply(request);
      if (request.slot.kind == RequestKind::OpenSession) {
        const auto key = security::SessionKey::derive(secret_, SessionId{41});
        reply.payload = protocol::text_of(key.bytes());
      }
      return reply;
    });
  }

  FakeReply authenticated(const FakeRequest& request) {
    const auto order = protocol::decode_authenticate(protocol::bytes_of(request.payload));
    EXPECT_TRUE(order.ok());
    const bool by_token = order.ok() && order.value().method == AuthenticateMethod::Token;
    if (by_token && tokens_refused_) {
      return error_reply(request, protocol::ErrorCode::TokenRevoked);
    }
    if (!by_token && passwords_refused_ > 0) {
      --passwords_refused_;
      return error_reply(request, refusal_);
    }
    FakeReply reply = ok_reply(request);
    reply.payload = protocol::text_of(protocol::encode_authenticated(
        {.principal = {security::PrincipalKind::User, "bob"},
         .life_s = 3600,
         .token = by_token ? std::string{} : std::string{"a token of bob's"}}));
    return reply;
  }

  Client connect_as_bob() {
    ClientOptions as_bob = options();
    as_bob.clock = boot_clock();
    as_bob.request_timeout = std::chrono::minutes{1};
    as_bob.credentials = {.user = "bob", .password = "a password of bob's"};
    auto client = Client::connect(as_bob);
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    Client connected = std::move(client).value();
    EXPECT_TRUE(connected.wait_for_all_nodes(std::chrono::minutes{1}).ok());
    return connected;
  }

  // Node 1 loses its connections, and a client comes back to it.
  void lose_first(Client& client) {
    const std::uint64_t before = client.statistics().reconnects;
    seen_ = cluster_.requests(RequestKind::Authenticate).size();
    cluster_.stop_node(NodeId{1});
    settle_until(client,
                 [&](const ClientStatistics& counted) { return counted.reconnects > before; });
    cluster_.start_node(NodeId{1});
    EXPECT_TRUE(client.wait_for_all_nodes(std::chrono::minutes{1}).ok());
  }

  // The logins since the last connection was lost.
  std::vector<FakeRequest> logins() const {
    auto all = cluster_.requests(RequestKind::Authenticate);
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(seen_));
    return all;
  }

  static AuthenticateMethod method_of(const FakeRequest& request) {
    return protocol::decode_authenticate(protocol::bytes_of(request.payload)).value().method;
  }

  // How many requests of a kind node 1 has had.
  std::size_t count_of(RequestKind kind) const {
    const auto all = cluster_.requests(kind);
    return static_cast<std::size_t>(std::ranges::count(all, NodeId{1}, &FakeRequest::node));
  }

  // The round trip in which the first of them behind so many comes.
  std::uint32_t flight_behind(RequestKind kind, std::size_t before) const {
    for (std::size_t wanted = before + 1;; ++wanted) {
      auto all = cluster_.wait_for(kind, wanted);
      std::erase_if(all, [](const FakeRequest& each) { return each.node != NodeId{1}; });
      if (all.size() > before || ::testing::Test::HasFailure()) {
        return all.size() > before ? all[before].flight : 0;
      }
    }
  }

  const std::vector<std::byte> secret_{std::size_t{32}, std::byte{7}};
  std::atomic<bool> tokens_refused_{false};
  std::atomic<bool> logins_answered_{true};
  std::atomic<int> passwords_refused_{0};
  std::atomic<protocol::ErrorCode> refusal_{protocol::ErrorCode::AuthenticationBusy};
  std::size_t seen_ = 0;
};

TEST_F(ReconnectTest, APasswordIsShownToOneNodeAndOnceItHasAnswered) {
  Client client = connect_as_bob();
  int passwords = 0;
  for (const FakeRequest& login : cluster_.requests(RequestKind::Authenticate)) {
    if (method_of(login) == AuthenticateMethod::Password) {
      ++passwords;
      EXPECT_EQ(login.flight, 2u);
    }
  }
  EXPECT_EQ(passwords, 1) << "the other nodes get the token";
  EXPECT_EQ(client.identity().name, "bob");
}

TEST_F(ReconnectTest, ATokenGoesOutWithTheHelloAndItsAnswerIsTheFirstRoundTrip) {
  Client client = connect_as_bob();
  lose_first(client);
  const auto again = logins();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(method_of(again[0]), AuthenticateMethod::Token);
  EXPECT_EQ(again[0].flight, 1u);
}

TEST_F(ReconnectTest, SessionsAreAttachedAndRenewedInTheSecond) {
  Client client = connect_as_bob();
  const Session session = open(client, {.ttl = std::chrono::minutes{1}});
  const std::size_t attached = count_of(RequestKind::SessionAttach);
  const std::size_t renewed = count_of(RequestKind::KeepAlive);
  lose_first(client);
  EXPECT_EQ(flight_behind(RequestKind::SessionAttach, attached), 2u);
  EXPECT_EQ(flight_behind(RequestKind::KeepAlive, renewed), 2u);
}

TEST_F(ReconnectTest, AWatchGoesOnInTheSecond) {
  cluster_.stop_node(NodeId{2});
  cluster_.stop_node(NodeId{3});
  ClientOptions as_bob = options();
  as_bob.clock = boot_clock();
  as_bob.request_timeout = std::chrono::minutes{1};
  as_bob.endpoints.resize(1);
  as_bob.credentials = {.user = "bob", .password = "a password of bob's"};
  auto client = Client::connect(as_bob);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  // The fake answers no watch, so the call waits until the client ends.
  std::thread watching{[&client] { static_cast<void>(client.value().watch({.name = "a"})); }};
  EXPECT_GE(flight_behind(RequestKind::WatchOpen, 0), 2u);
  cluster_.stop_node(NodeId{1});
  cluster_.start_node(NodeId{1});
  EXPECT_EQ(flight_behind(RequestKind::WatchOpen, 1), 2u);
  EXPECT_TRUE(client.value().close().ok());
  watching.join();
}

TEST_F(ReconnectTest, WhoseTokenIsRefusedShowsThePasswordAndIsServed) {
  Client client = connect_as_bob();
  tokens_refused_ = true;
  lose_first(client);
  const auto again = logins();
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].flight, 1u);
  EXPECT_EQ(method_of(again[1]), AuthenticateMethod::Password);
  EXPECT_EQ(again[1].flight, 2u);
  EXPECT_TRUE(client.check("a", 7).ok());
}

TEST_F(ReconnectTest, ANodeThatTakesNoLoginsAnyMoreServesAllTheSame) {
  Client client = connect_as_bob();
  cluster_.deny(NodeId{1}, protocol::Feature::Identities);
  lose_first(client);
  EXPECT_TRUE(client.check("a", 7).ok());
}

// The number that connect() ends with when its time is over, by the clock of the test, after so
// many passwords were shown.
class PutOffLoginTest : public ReconnectTest {
 protected:
  std::uint32_t connect_failure(std::size_t shown) {
    ClientOptions as_bob = options();
    as_bob.credentials = {.user = "bob", .password = "a password of bob's"};
    auto connecting =
        std::async(std::launch::async, [&] { return Client::connect(as_bob).status().detail(); });
    cluster_.wait_for(RequestKind::Authenticate, shown);
    while (connecting.wait_for(std::chrono::milliseconds{1}) != std::future_status::ready) {
      clock_->advance(as_bob.connect_timeout);
    }
    return connecting.get();
  }
};

TEST_F(PutOffLoginTest, ABusyNodeIsShownThePasswordAgainUntilItHasTime) {
  passwords_refused_ = 4;
  ClientOptions as_bob = options();
  as_bob.clock = boot_clock();
  as_bob.connect_timeout = std::chrono::minutes{1};
  as_bob.credentials = {.user = "bob", .password = "a password of bob's"};
  auto client = Client::connect(as_bob);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  EXPECT_EQ(client.value().identity().name, "bob");
  EXPECT_GE(cluster_.requests(RequestKind::Authenticate).size(), 5u);
}

// Each of them is an answer of a node, and not its silence.
TEST_F(PutOffLoginTest, WhoseTimeIsOverHearsWhatTheNodesSaid) {
  passwords_refused_ = 1'000'000;
  EXPECT_EQ(connect_failure(2), 6532u);
  refusal_ = protocol::ErrorCode::AuthenticationThrottled;
  const std::size_t before = cluster_.requests(RequestKind::Authenticate).size();
  EXPECT_EQ(connect_failure(before + 2), 6533u);
}

TEST_F(PutOffLoginTest, AWrongPasswordIsNotShownAgain) {
  passwords_refused_ = 1'000'000;
  refusal_ = protocol::ErrorCode::AuthenticationFailed;
  ClientOptions as_bob = options();
  as_bob.credentials = {.user = "bob", .password = "another one"};
  EXPECT_EQ(Client::connect(as_bob).status().detail(), 6531u);
  EXPECT_EQ(cluster_.requests(RequestKind::Authenticate).size(), 3u) << "one at each node";
}

TEST_F(PutOffLoginTest, ANodeThatStillChecksThePasswordIsNotOutOfReach) {
  logins_answered_ = false;
  EXPECT_EQ(connect_failure(1), 6532u);
}

}  // namespace
}  // namespace gcoord::client
