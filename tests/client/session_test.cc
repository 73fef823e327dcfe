// Keeping sessions alive, and telling their holders in time when they are not.
#include "gcoord/session.h"

#include "protocol/lock_messages.h"
#include "protocol/session_messages.h"
#include "tests/client/client_fixture.h"

#include <algorithm>
#include <atomic>
#include <future>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::ErrorCode;
using protocol::RequestKind;

class SessionLife : public ClientTest {
 protected:
  // Keep-alives are answered by the nodes of this mask only (bit n: node n).
  void answer_keep_alives_of(std::uint32_t mask) { answering_.store(mask); }

  void SetUp() override {
    // Longer than these tests last, so that a node that keeps quiet is not given up.
    request_timeout_ = 1min;
    cluster_.answer_with([this](const FakeRequest& request) -> std::optional<FakeReply> {
      const bool silent = request.slot.kind == RequestKind::KeepAlive &&
                          (answering_.load() >> request.node.value & 1u) == 0;
      return silent ? std::nullopt : std::optional{friendly_reply(request)};
    });
  }

  SessionOptions nine_seconds() {
    return {.ttl = 9s, .on_event = [this](SessionEvent event) { events_.add(event); }};
  }

  // A third of the TTL passes; keep-alives arrive at all nodes.
  void next_round() {
    ++rounds_;
    clock_->advance(3s);
    cluster_.wait_for(RequestKind::KeepAlive, rounds_ * 3);
  }

  std::atomic<std::uint32_t> answering_{0b1110};
  std::size_t rounds_ = 0;
  Collected<SessionEvent> events_;
};

TEST_F(SessionLife, SendsOneKeepAliveToEveryNodeEveryThirdOfTheTtl) {
  Client client = connect();
  Session session = open(client, nine_seconds());
  EXPECT_EQ(session.id(), 41u);
  next_round();
  const auto requests = cluster_.requests(RequestKind::KeepAlive);
  ASSERT_EQ(requests.size(), 3u);
  const auto sessions = protocol::decode_keep_alive(protocol::bytes_of(requests[0].payload));
  EXPECT_EQ(sessions.value(), std::vector{SessionId{41}});
}

TEST_F(SessionLife, IsRenewedFromTheSendTimeByAMajority) {
  answer_keep_alives_of(0b0110);
  Client client = connect();
  Session session = open(client, nine_seconds());
  EXPECT_EQ(session.remaining(), 8900ms);
  next_round();
  settle_until(client, [&](const auto&) { return session.remaining() == 8900ms; });
}

TEST_F(SessionLife, IsNotRenewedByAMinorityAndExpiresAfterJeopardy) {
  answer_keep_alives_of(0b0010);
  Client client = connect();
  Session session = open(client, nine_seconds());
  next_round();
  next_round();
  EXPECT_EQ(events_.wait_for(1), std::vector{SessionEvent::Jeopardy});
  EXPECT_EQ(session.remaining(), 2900ms);
  EXPECT_TRUE(session.alive());
  clock_->advance(2900ms);
  EXPECT_FALSE(session.alive()) << "by the clock, before any event";
  EXPECT_EQ(events_.wait_for(2), (std::vector{SessionEvent::Jeopardy, SessionEvent::Expired}));
  EXPECT_EQ(session.acquire("name").status().detail(), kDetailSessionExpired);
}

TEST_F(SessionLife, IsSafeAgainWhenAMajorityComesBack) {
  answer_keep_alives_of(0);
  Client client = connect();
  Session session = open(client, nine_seconds());
  next_round();
  answer_keep_alives_of(0b1110);
  next_round();
  EXPECT_EQ(events_.wait_for(2), (std::vector{SessionEvent::Jeopardy, SessionEvent::Safe}));
  EXPECT_EQ(session.remaining(), 8900ms);
}

TEST_F(SessionLife, ThatANodeCallsExpiredIsLostWithAllItsLocks) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind == RequestKind::KeepAlive && request.node == NodeId{3}) {
      reply.payload =
          protocol::text_of(protocol::encode_keep_alive_reply(std::vector<protocol::KeepAliveEntry>{
              {SessionId{41}, protocol::KeepAliveState::Expired, 0}}));
    }
    return reply;
  });
  Client client = connect();
  Session session = open(client, nine_seconds());
  auto lock = session.acquire("name");
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(lock.value().valid());
  clock_->advance(3s);
  EXPECT_EQ(events_.wait_for(2), (std::vector{SessionEvent::Jeopardy, SessionEvent::Expired}));
  EXPECT_FALSE(lock.value().valid());
}

TEST_F(SessionLife, EndsWaitingCallsWhenItExpires) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool open = request.slot.kind == RequestKind::OpenSession;
    return open ? std::optional{friendly_reply(request)} : std::nullopt;
  });
  Client client = connect();
  Session session = open(client, nine_seconds());
  Collected<Status> ended;
  session.acquire_async(
      "name", {.wait = kForever}, [&](const Result<Grant>& grant) { ended.add(grant.status()); });
  const auto acquire = cluster_.wait_for(RequestKind::LockAcquire, 1)[0];
  EXPECT_EQ(acquire.slot.deadline_ms, protocol::kForeverMs);
  clock_->advance(9s);
  EXPECT_EQ(ended.wait_for(1)[0].detail(), kDetailSessionExpired);
  EXPECT_EQ(events_.wait_for(2).back(), SessionEvent::Expired);
  const auto close = cluster_.wait_for(RequestKind::CloseSession, 1)[0];
  EXPECT_EQ(close.slot.shard, acquire.slot.shard) << "or the acquire registers it once more";
}

// No quorum was told as a lost session, exit code 1 instead of 5.
TEST_F(SessionLife, AnAcquireThatFoundNoLeaderUntilItRanOutLackedAQuorum) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::KeepAlive && request.node != NodeId{1}) {
      return std::nullopt;
    }
    return request.slot.kind == RequestKind::LockAcquire ? error_reply(request, ErrorCode::NoLeader)
                                                         : friendly_reply(request);
  });
  Client client = connect();
  Session session = open(client, nine_seconds());
  Collected<Status> ended;
  session.acquire_async(
      "name", {.wait = 0ms}, [&](const Result<Grant>& grant) { ended.add(grant.status()); });
  settle_until(client, [](const ClientStatistics& s) { return s.retries == 1; });
  clock_->advance(9s);
  EXPECT_EQ(ended.wait_for(1)[0].detail(), kDetailNoLeader);
  EXPECT_EQ(events_.wait_for(2).back(), SessionEvent::Expired);
  EXPECT_EQ(session.acquire("name").status().detail(), kDetailSessionExpired);
}

TEST_F(SessionLife, AWaitWhoseNodesAreGoneWhenItRunsOutLackedAQuorum) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool open = request.slot.kind == RequestKind::OpenSession;
    return open ? std::optional{friendly_reply(request)} : std::nullopt;
  });
  Client client = connect();
  Session session = open(client, nine_seconds());
  Collected<Status> ended;
  session.acquire_async(
      "name", {.wait = kForever}, [&](const Result<Grant>& grant) { ended.add(grant.status()); });
  cluster_.wait_for(RequestKind::LockAcquire, 1);
  cluster_.stop_node(NodeId{2});
  cluster_.stop_node(NodeId{3});
  settle_until(client, [&](const auto&) {
    const auto nodes = client.cluster().nodes;
    return std::ranges::count_if(nodes, &NodeView::connected) == 1;
  });
  clock_->advance(9s);
  EXPECT_EQ(ended.wait_for(1)[0].detail(), kDetailNoLeader);
}

TEST_F(SessionLife, IsLostWhenAShardSaysThatItExpired) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::LockAcquire
               ? error_reply(request, ErrorCode::SessionExpired)
               : friendly_reply(request);
  });
  Client client = connect();
  Session session = open(client, nine_seconds());
  EXPECT_EQ(session.acquire("name").status().detail(), kDetailSessionExpired);
  EXPECT_EQ(events_.wait_for(2).back(), SessionEvent::Expired);
  EXPECT_FALSE(session.alive());
}

// An acquire on its way registered its session after the close and held the lock for a TTL.
TEST_F(SessionLife, ClosingItClosesTheShardsOfWhatIsOnItsWay) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool acquire = request.slot.kind == RequestKind::LockAcquire;
    return acquire ? std::nullopt : std::optional{friendly_reply(request)};
  });
  Client client = connect();
  Session session = open(client, nine_seconds());
  session.acquire_async("name", {.wait = kForever}, [](const Result<Grant>&) {});
  const auto acquire = cluster_.wait_for(RequestKind::LockAcquire, 1)[0];
  EXPECT_TRUE(session.close().ok());
  std::size_t of_all = 0;
  std::vector<std::uint32_t> shards;
  for (const FakeRequest& close : cluster_.requests(RequestKind::CloseSession)) {
    EXPECT_EQ(close.slot.session, 41u);
    of_all += close.slot.shard == protocol::kAllShards ? 1 : 0;
    if (close.slot.shard != protocol::kAllShards) {
      shards.push_back(close.slot.shard);
    }
  }
  EXPECT_EQ(of_all, 3u);
  EXPECT_EQ(shards, std::vector{acquire.slot.shard});
}

TEST_F(SessionLife, IsRenewedOnRequestWhenAMajorityAcknowledges) {
  answer_keep_alives_of(0b0110);
  Client client = connect();
  Session session = open(client, nine_seconds());
  clock_->advance(1s);
  EXPECT_EQ(session.remaining(), 7900ms);
  EXPECT_TRUE(session.renew().ok());
  EXPECT_EQ(session.remaining(), 8900ms);
}

TEST_F(SessionLife, IsNotRenewedOnRequestByAMinority) {
  Client client = connect();
  Session session = open(client, nine_seconds());
  cluster_.stop_node(NodeId{1});
  cluster_.stop_node(NodeId{2});
  settle_until(client, [](const ClientStatistics& s) { return s.reconnects == 2; });
  EXPECT_EQ(session.renew().detail(), static_cast<std::uint32_t>(ErrorCode::QuorumUnavailable));
}

TEST_F(SessionLife, AsksANodeThatComesBackAtOnce) {
  Client client = connect();
  Session session = open(client, nine_seconds());
  cluster_.stop_node(NodeId{2});
  settle_until(client, [](const ClientStatistics& s) { return s.reconnects == 1; });
  cluster_.start_node(NodeId{2});
  advance_until(client, 10ms, [&](const auto&) { return client.cluster().nodes[1].connected; });
  EXPECT_EQ(cluster_.wait_for(RequestKind::KeepAlive, 1)[0].node, NodeId{2});
}

TEST_F(SessionLife, ClosesAtEveryNode) {
  Client client = connect();
  Session session = open(client, nine_seconds());
  EXPECT_TRUE(session.close().ok());
  const auto requests = cluster_.requests(RequestKind::CloseSession);
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].slot.shard, protocol::kAllShards);
  EXPECT_FALSE(session.alive());
  EXPECT_EQ(session.acquire("name").status().detail(), 6018u);
  EXPECT_TRUE(session.close().ok()) << "closing twice is closing once";
}

// The keeper finds a session by its place, and places change hands when sessions are closed.
TEST_F(SessionLife, ThoseThatAreLeftAreRenewedWhicheverOthersWereClosed) {
  std::atomic<std::uint64_t> opened{100};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind == RequestKind::OpenSession) {
      reply.slot.extra = ++opened;
    }
    return reply;
  });
  Client client = connect();
  std::vector<Session> sessions;
  for (int k = 0; k < 6; ++k) {
    sessions.push_back(open(client, nine_seconds()));
  }
  for (const std::size_t closed : {1u, 5u, 0u}) {
    EXPECT_TRUE(sessions[closed].close().ok());
  }
  next_round();
  const auto renewed = protocol::decode_keep_alive(
      protocol::bytes_of(cluster_.requests(RequestKind::KeepAlive)[0].payload));
  std::set<std::uint64_t> ids;
  for (const SessionId session : renewed.value()) {
    ids.insert(session.value);
  }
  EXPECT_EQ(ids, (std::set<std::uint64_t>{103, 104, 105}));
}

TEST_F(SessionLife, IsClosedByItsDestructorEvenRightBeforeTheClient) {
  {
    Client client = connect();
    Session session = open(client, nine_seconds());
    const auto lock = session.acquire("name");
  }
  EXPECT_EQ(cluster_.requests(RequestKind::CloseSession).size(), 3u);
}

TEST_F(SessionLife, ThatIsDetachedIsLeftToLive) {
  {
    Client client = connect();
    Session session = open(client, nine_seconds());
    auto lock = session.acquire("name");
    lock.value().detach();
    session.detach();
    static_cast<void>(client.statistics());  // A round trip: it is detached now.
    clock_->advance(3s);
    EXPECT_TRUE(client.check("name", 7).ok());
  }
  EXPECT_TRUE(cluster_.requests(RequestKind::CloseSession).empty());
  EXPECT_TRUE(cluster_.requests(RequestKind::LockRelease).empty());
  EXPECT_TRUE(cluster_.requests(RequestKind::KeepAlive).empty());
}

TEST_F(SessionLife, CanBeTakenUpByAnotherProgram) {
  Client client = connect();
  auto session = client.attach_session({.session_id = 41, .first_sequence = 1'000'000});
  ASSERT_TRUE(session.ok());
  EXPECT_TRUE(session.value().release("name", 7).ok());
  const auto release = cluster_.requests(RequestKind::LockRelease)[0];
  EXPECT_EQ(release.slot.session, 41u);
  EXPECT_TRUE(release.slot.has(protocol::RequestFlag::ByToken));
  EXPECT_TRUE(session.value().try_acquire("other").ok());
  const auto acquire = cluster_.requests(RequestKind::LockAcquire)[0];
  EXPECT_EQ(acquire.slot.sequence, 1'000'000u);
  EXPECT_EQ(acquire.slot.acked_below, 1'000'000u);
  session.value().detach();
  EXPECT_EQ(client.attach_session({}).status().detail(), 1108u);
}

TEST_F(SessionLife, TakenUpToBeKeptAliveIsCertainAfterTheFirstAnswers) {
  Client client = connect();
  auto session = client.attach_session({.session_id = 41, .ttl = 9s, .keep_alive = true});
  ASSERT_TRUE(session.ok());
  settle_until(client, [&](const auto&) { return session.value().remaining() == 8900ms; });
}

TEST_F(SessionLife, RefusesATtlOutOfBounds) {
  Client client = connect();
  EXPECT_EQ(client.open_session({.ttl = 1ms}).status().detail(), 1104u);
  EXPECT_EQ(client.open_session({.ttl = 48h}).status().detail(), 1105u);
}

// Under another number it would take another hold.
TEST_F(SessionLife, ACountedReleaseWithoutAnAnswerIsNotSentAgain) {
  std::atomic<bool> releasing{false};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = friendly_reply(request);
    reply.slot.token = request.slot.kind == RequestKind::LockAcquireHold ? 7 : reply.slot.token;
    const bool lost = request.slot.kind == RequestKind::LockRelease && !releasing.load();
    return lost ? std::nullopt : std::optional{reply};
  });
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  {
    auto lock = session.acquire("name", {.holds_max = 2});
    ASSERT_TRUE(lock.ok()) << lock.status().to_string();
    auto released = std::async(std::launch::async, [&lock] { return lock.value().release(); });
    cluster_.wait_for(RequestKind::LockRelease, 1);
    clock_->advance(request_timeout_);
    EXPECT_FALSE(released.get().ok());
    releasing = true;
  }
  // Whatever the destructor sent would have come before this answer.
  EXPECT_TRUE(client.check("name", 7).ok());
  EXPECT_EQ(cluster_.requests(RequestKind::LockRelease).size(), 1u);
}

TEST_F(SessionLife, ReleasesALockWhenItsObjectGoes) {
  Client client = connect();
  Session session = open(client, nine_seconds());
  { const auto lock = session.acquire("name"); }
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 1)[0].slot.token, 7u);
  auto kept = session.acquire("name");
  kept = session.acquire("other");
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 2)[1].payload, "name");
}

// The node may grant the name to another session as soon as the release is under way.
TEST_F(SessionLife, ALockIsOverForAllItsHandlesOnceItIsGivenBackThroughOne) {
  Client client = connect();
  Session session = open(client, nine_seconds());
  const auto outer = session.acquire("name");
  auto inner = session.acquire("name");
  ASSERT_TRUE(outer.value().valid());
  ASSERT_TRUE(inner.value().release().ok());
  EXPECT_FALSE(outer.value().valid());
  EXPECT_EQ(outer.value().certain_until(), TimePoint{});

  const auto other = session.acquire("other");
  ASSERT_TRUE(other.value().valid());
  ASSERT_TRUE(session.release("other", other.value().fence()).ok());
  EXPECT_FALSE(other.value().valid());
}

TEST_F(SessionLife, OnlyTheLastHandleThatGoesGivesTheLockBack) {
  Client client = connect();
  Session session = open(client, nine_seconds());
  {
    const auto outer = session.acquire("name");
    { const auto inner = session.acquire("name"); }
    EXPECT_TRUE(outer.value().valid());
    // Whatever the inner one's destructor sent would have come before this answer.
    EXPECT_TRUE(client.check("name", 7).ok());
    EXPECT_TRUE(cluster_.requests(RequestKind::LockRelease).empty());
  }
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 1)[0].slot.token, 7u);
  {
    auto given_back = session.acquire("name");
    const auto outlives_it = session.acquire("name");
    EXPECT_TRUE(given_back.value().release().ok());
  }
  EXPECT_TRUE(client.check("name", 7).ok());
  EXPECT_EQ(cluster_.requests(RequestKind::LockRelease).size(), 2u);
}

}  // namespace
}  // namespace gcoord::client
