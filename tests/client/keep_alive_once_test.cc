// One keep-alive of any session: when it may say that the session is gone.
#include "protocol/lease_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/session_messages.h"
#include "tests/client/client_fixture.h"

#include <atomic>

namespace gcoord::client {
namespace {

using protocol::RequestKind;

constexpr std::uint64_t kSession = 41;

class KeepAliveOnce : public ClientTest {
 protected:
  // What the leader of the home knows of the session, the next times that it is asked.
  std::optional<FakeReply> show(const FakeRequest& request, bool known) const {
    FakeReply reply = ok_reply(request);
    protocol::SessionDetails details;
    details.row = {.session = SessionId{kSession}, .ttl_ms = 9000, .remaining_ms = 9000};
    details.row.registration_count = known ? 1 : 0;
    reply.payload = protocol::text_of(protocol::encode_session(details));
    return reply;
  }

  static FakeReply said(const FakeRequest& request, protocol::KeepAliveState state) {
    FakeReply reply = ok_reply(request);
    const protocol::KeepAliveEntry entries[] = {{SessionId{kSession}, state, 0}};
    reply.payload = protocol::text_of(protocol::encode_keep_alive_reply(entries));
    return reply;
  }

  // Of a node that is asked whether it knows the session.
  void nodes_say(protocol::KeepAliveState state, int shows_before_known) {
    unknown_for_ = shows_before_known;
    cluster_.answer_with([this, state](const FakeRequest& request) -> std::optional<FakeReply> {
      if (request.slot.kind == RequestKind::SessionShow) {
        return show(request, unknown_for_-- <= 0);
      }
      return request.slot.kind == RequestKind::KeepAlive ? said(request, state)
                                                         : friendly_reply(request);
    });
  }

  // By the machine's clock, which passes while nodes answer.
  Client connect_in_time() const {
    ClientOptions in_time = options();
    in_time.clock = boot_clock();
    in_time.request_timeout = std::chrono::minutes{1};
    auto client = Client::connect(in_time);
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    return std::move(client).value();
  }

  void ask(Client& client) {
    client.keep_alive_once_async(kSession).then(
        [this](Result<SessionDescription> description) { told_.add(std::move(description)); });
  }

  std::atomic<int> unknown_for_{0};
  Collected<Result<SessionDescription>> told_;
};

TEST_F(KeepAliveOnce, S2ASessionThatANodeKnowsIsNotGoneBecauseItsHomeIsBehind) {
  nodes_say(protocol::KeepAliveState::Renewed, 2);
  Client client = connect_in_time();
  ask(client);
  const auto told = told_.wait_for(1)[0];
  ASSERT_TRUE(told.ok()) << told.status().to_string();
  EXPECT_TRUE(told.value().alive);
  EXPECT_EQ(cluster_.requests(RequestKind::SessionShow).size(), 3u);
}

TEST_F(KeepAliveOnce, S2ASessionThatNoNodeKnowsIsGoneAtOnce) {
  nodes_say(protocol::KeepAliveState::Unregistered, 1);
  Client client = connect_in_time();
  ask(client);
  const auto told = told_.wait_for(1)[0];
  ASSERT_TRUE(told.ok()) << told.status().to_string();
  EXPECT_FALSE(told.value().alive);
}

TEST_F(KeepAliveOnce, ASessionThatItsKeeperMayNotSeeLivesWhereANodeHasRenewedIt) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::SessionShow) {
      return error_reply(request, protocol::ErrorCode::NotAllowed);
    }
    return request.slot.kind == RequestKind::KeepAlive
               ? said(request, protocol::KeepAliveState::Renewed)
               : friendly_reply(request);
  });
  Client client = connect_in_time();
  ask(client);
  const auto told = told_.wait_for(1)[0];
  ASSERT_TRUE(told.ok()) << told.status().to_string();
  EXPECT_TRUE(told.value().alive);
  EXPECT_EQ(told.value().session_id, kSession);
  EXPECT_EQ(told.value().ttl.count(), 0);
}

TEST_F(KeepAliveOnce, ARefusalStaysOneWhereNoNodeKnowsTheSession) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::SessionShow) {
      return error_reply(request, protocol::ErrorCode::NotAllowed);
    }
    return request.slot.kind == RequestKind::KeepAlive
               ? said(request, protocol::KeepAliveState::Unregistered)
               : friendly_reply(request);
  });
  Client client = connect_in_time();
  ask(client);
  EXPECT_EQ(told_.wait_for(1)[0].status().detail(), 6560u);
}

// One node's refusal is for good, whatever the others may do later.
TEST_F(KeepAliveOnce, ARefusalIsNotAskedForAgain) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind != RequestKind::KeepAlive) {
      return friendly_reply(request);
    }
    return error_reply(request,
                       request.node == NodeId{1} ? protocol::ErrorCode::NotAllowed
                                                 : protocol::ErrorCode::NotReady);
  });
  ClientOptions hurried = options();
  hurried.clock = boot_clock();
  hurried.request_timeout = std::chrono::milliseconds{1'000};
  auto client = Client::connect(hurried);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  ask(client.value());
  EXPECT_EQ(told_.wait_for(1)[0].status().detail(), 6560u);
  std::size_t refused = 0;
  for (const FakeRequest& request : cluster_.requests(RequestKind::KeepAlive)) {
    refused += request.node == NodeId{1} ? 1 : 0;
  }
  EXPECT_EQ(refused, 1u);
}

// A client that comes right after a start has tried all nodes, and two were not there yet.
TEST_F(KeepAliveOnce, NodesThatAreStartingAreWaitedFor) {
  nodes_say(protocol::KeepAliveState::Renewed, 0);
  cluster_.stop_node(NodeId{2});
  cluster_.stop_node(NodeId{3});
  Client client = connect_in_time();
  ask(client);
  cluster_.wait_for(RequestKind::KeepAlive, 1);
  cluster_.start_node(NodeId{3});
  const auto told = told_.wait_for(1)[0];
  ASSERT_TRUE(told.ok()) << told.status().to_string();
  EXPECT_TRUE(told.value().alive);
}

TEST_F(KeepAliveOnce, WithoutAMajorityItFailsWhenItsTimeIsOver) {
  nodes_say(protocol::KeepAliveState::Renewed, 0);
  cluster_.stop_node(NodeId{2});
  cluster_.stop_node(NodeId{3});
  ClientOptions hurried = options();
  hurried.clock = boot_clock();
  hurried.request_timeout = std::chrono::milliseconds{300};
  auto client = Client::connect(hurried);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  ask(client.value());
  EXPECT_FALSE(told_.wait_for(1)[0].ok());
}

TEST_F(KeepAliveOnce, WhoAsksIsToldWhenTheClientEndsMeanwhile) {
  nodes_say(protocol::KeepAliveState::Renewed, 1'000'000);
  {
    Client client = connect_in_time();
    ask(client);
    while (cluster_.requests(RequestKind::SessionShow).empty()) {
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(told_.wait_for(1)[0].status().detail(), 4010u);
}

}  // namespace
}  // namespace gcoord::client
