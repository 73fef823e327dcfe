// Finding the leader, trying again, and being executed once.
#include "protocol/lock_messages.h"
#include "tests/client/client_fixture.h"

#include <gmock/gmock.h>

#include <future>

namespace gcoord::client {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;
using protocol::ErrorCode;
using protocol::RequestKind;

class Dispatch : public ClientTest {
 protected:
  // Node 2 leads everything and the others say so.
  static std::optional<FakeReply> second_leads(const FakeRequest& request) {
    const bool elsewhere = request.slot.kind == RequestKind::LockCheck && request.node != NodeId{2};
    return elsewhere ? error_reply(request, ErrorCode::NotLeader, NodeId{2})
                     : friendly_reply(request);
  }
};

TEST_F(Dispatch, FollowsTheHintToTheLeaderAndRemembersIt) {
  cluster_.answer_with(second_leads);
  Client client = connect();
  ASSERT_TRUE(client.check("name", 1).ok());
  const std::size_t asked = cluster_.requests(RequestKind::LockCheck).size();
  EXPECT_LE(asked, 2u);
  ASSERT_TRUE(client.check("name", 1).ok());
  const auto requests = cluster_.requests(RequestKind::LockCheck);
  ASSERT_EQ(requests.size(), asked + 1);
  EXPECT_EQ(requests.back().node, NodeId{2});
}

TEST_F(Dispatch, TakesLeadersFromAMap) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind != RequestKind::LeaderMap) {
      return second_leads(request);
    }
    FakeReply reply = ok_reply(request);
    reply.payload = protocol::text_of(
        protocol::encode_leader_map({ShardId{0}, std::vector<NodeId>(16, NodeId{2})}));
    return reply;
  });
  Client client = connect();
  ASSERT_EQ(client.leader_map(0, 16).value(), std::vector<std::uint32_t>(16, 2));
  for (const char* name : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(client.check(name, 1).ok());
  }
  EXPECT_EQ(client.statistics().redirects, 0u);
}

TEST_F(Dispatch, TriesAgainAfterABackOffWhileThereIsNoLeader) {
  std::atomic<int> refusals{2};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    return refusals-- > 0 ? error_reply(request, ErrorCode::NoLeader) : friendly_reply(request);
  });
  Client client = connect();
  Collected<Result<Verdict>> verdicts;
  client.check_async("name", 1, [&](Result<Verdict> verdict) { verdicts.add(verdict); });
  settle_until(client, [](const ClientStatistics& s) { return s.retries == 1; });
  EXPECT_EQ(cluster_.requests(RequestKind::LockCheck).size(), 1u) << "not before the back-off";
  advance_until(client, 10ms, [&](const auto&) { return verdicts.count() == 1; });
  EXPECT_TRUE(verdicts.wait_for(1)[0].ok());
  EXPECT_EQ(cluster_.requests(RequestKind::LockCheck).size(), 3u);
}

TEST_F(Dispatch, SaysNoLeaderWhenTheDeadlineComesMeanwhile) {
  cluster_.answer_with(
      [&](const FakeRequest& request) { return error_reply(request, ErrorCode::NoLeader); });
  Client client = connect();
  Collected<Result<Verdict>> verdicts;
  client.check_async("name", 1, [&](Result<Verdict> verdict) { verdicts.add(verdict); });
  settle_until(client, [](const ClientStatistics& s) { return s.retries == 1; });
  clock_->advance(5s);
  const Status status = verdicts.wait_for(1)[0].status();
  EXPECT_EQ(status.detail(), kDetailNoLeader);
  EXPECT_NE(status.message().find("3 of 3 nodes can be reached"), std::string::npos)
      << status.message();
}

// It was told to ask the leader that the reply names.
TEST_F(Dispatch, SaysNoLeaderWhenTheNodesNameOneThatCannotBeReached) {
  cluster_.answer_with([&](const FakeRequest& request) {
    return error_reply(request, ErrorCode::NotLeader, NodeId{9});
  });
  Client client = connect();
  Collected<Result<Verdict>> verdicts;
  client.check_async("name", 1, [&](Result<Verdict> verdict) { verdicts.add(verdict); });
  settle_until(client, [](const ClientStatistics& s) { return s.retries == 1; });
  clock_->advance(5s);
  const Status status = verdicts.wait_for(1)[0].status();
  EXPECT_EQ(status.detail(), kDetailNoLeader);
  EXPECT_NE(status.message().find("3 of 3 nodes can be reached"), std::string::npos)
      << status.message();
}

TEST_F(Dispatch, EndsAtTheDeadlineWhenNobodyAnswers) {
  cluster_.answer_with([](const FakeRequest&) { return std::nullopt; });
  Client client = connect();
  Collected<Result<Verdict>> verdicts;
  client.check_async("name", 1, [&](Result<Verdict> verdict) { verdicts.add(verdict); });
  cluster_.wait_for(RequestKind::LockCheck, 1);
  clock_->advance(5s);
  const Status status = verdicts.wait_for(1)[0].status();
  EXPECT_EQ(status.detail(), kDetailDeadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr("did not answer"));
}

TEST_F(Dispatch, LeavesASilentNodeForAnother) {
  std::atomic<bool> first{true};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    return first.exchange(false) ? std::nullopt : std::optional{friendly_reply(request)};
  });
  Client client = connect();
  Collected<Result<Verdict>> verdicts;
  client.check_async("name", 1, [&](Result<Verdict> verdict) { verdicts.add(verdict); });
  const NodeId silent = cluster_.wait_for(RequestKind::LockCheck, 1)[0].node;
  clock_->advance(2s);
  EXPECT_TRUE(verdicts.wait_for(1)[0].ok());
  EXPECT_NE(cluster_.requests(RequestKind::LockCheck)[1].node, silent);
}

TEST_F(Dispatch, Row74SendsTheSameSequenceAfterALostReply) {
  std::atomic<bool> first{true};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = friendly_reply(request);
    reply.hang_up = request.slot.kind == RequestKind::LockAcquire && first.exchange(false);
    return reply;
  });
  Client client = connect();
  Session session = open(client);
  auto lock = session.acquire("name");
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  EXPECT_EQ(lock.value().fence(), 7u);
  EXPECT_EQ(lock.value().epoch(), 3u);
  const auto requests = cluster_.requests(RequestKind::LockAcquire);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].slot.sequence, requests[1].slot.sequence);
  EXPECT_EQ(requests[0].slot.session, requests[1].slot.session);
  EXPECT_NE(requests[0].node, requests[1].node);
}

TEST_F(Dispatch, AsksUnderAnotherNumberWhenTheShardForgot) {
  std::atomic<int> releases{0};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind != RequestKind::LockRelease) {
      return reply;
    }
    const int tries = ++releases;
    reply.hang_up = tries == 1;
    return tries == 2   ? error_reply(request, ErrorCode::SequenceForgotten)
           : tries == 3 ? error_reply(request, ErrorCode::LockNotHeld)
                        : reply;
  });
  Client client = connect();
  Session session = open(client);
  EXPECT_TRUE(session.release("name", 7).ok()) << "the first try had released it";
  const auto requests = cluster_.requests(RequestKind::LockRelease);
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[1].slot.sequence, 1u);
  EXPECT_EQ(requests[2].slot.sequence, 2u);
}

TEST_F(Dispatch, DoesNotLoopWhenEveryNumberIsRefused) {
  std::atomic<bool> first{true};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind != RequestKind::LockAcquire) {
      return friendly_reply(request);
    }
    FakeReply reply = error_reply(request, ErrorCode::SequenceAcknowledged);
    reply.hang_up = first.exchange(false);
    return reply;
  });
  Client client = connect();
  Session session = open(client);
  Collected<Status> ended;
  session.acquire_async(
      "name", {.wait = 0s}, [&](const Result<Grant>& grant) { ended.add(grant.status()); });
  // Lost, refused and renumbered at once, refused again: the third number waits for a back-off.
  cluster_.wait_for(RequestKind::LockAcquire, 3);
  ASSERT_TRUE(client.check("name", 1).ok()) << "a round trip: nothing more is on its way";
  EXPECT_EQ(cluster_.requests(RequestKind::LockAcquire).size(), 3u);
  clock_->advance(request_timeout_);
  // By the refusal, or by the deadline if the last number is on its way just then.
  const std::uint32_t detail = ended.wait_for(1)[0].detail();
  EXPECT_TRUE(detail == static_cast<std::uint32_t>(ErrorCode::SequenceAcknowledged) ||
              detail == static_cast<std::uint32_t>(ErrorCode::DeadlineExceeded))
      << detail;
}

TEST_F(Dispatch, AnAttachedSessionReleasesByTokenAloneAndOnce) {
  std::atomic<int> tries{0};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind == RequestKind::LockRelease) {
      reply = error_reply(request, ErrorCode::LockNotHeld);
      reply.hang_up = ++tries == 1;
    }
    return reply;
  });
  Client client = connect();
  auto session = client.attach_session({.session_id = 41});
  ASSERT_TRUE(session.ok());
  EXPECT_TRUE(session.value().release("name", 7).ok()) << "the try whose answer was lost did it";
  EXPECT_EQ(session.value().release("name", 7).detail(), 6002u);
  for (const FakeRequest& request : cluster_.requests(RequestKind::LockRelease)) {
    EXPECT_TRUE(request.slot.has(protocol::RequestFlag::ByToken));
    EXPECT_EQ(request.slot.sequence, 0u);
    EXPECT_EQ(request.slot.acked_below, 0u);
  }
}

TEST_F(Dispatch, AcknowledgesRepliesPerShard) {
  Client client = connect();
  Session session = open(client);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(session.acquire("name").value().release().ok());
  }
  const auto requests = cluster_.requests(RequestKind::LockRelease);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].slot.sequence, 2u);
  EXPECT_EQ(requests[0].slot.acked_below, 2u);
  EXPECT_EQ(requests[1].slot.sequence, 4u);
  EXPECT_EQ(requests[1].slot.acked_below, 4u);
}

TEST_F(Dispatch, HoldsBackWhatTheWindowOfAShardCannotTake) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool wait = request.slot.kind == RequestKind::LockAcquire;
    return wait ? std::nullopt : std::optional{friendly_reply(request)};
  });
  Client client = connect();
  Session session = open(client);
  Collected<Status> ended;
  for (std::size_t index = 0; index < protocol::kOutstandingMax + 1; ++index) {
    session.acquire_async(
        "name", {.wait = 1s}, [&](const Result<Grant>& grant) { ended.add(grant.status()); });
  }
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockAcquire, protocol::kOutstandingMax).size(),
            protocol::kOutstandingMax);
  clock_->advance(6s);
  EXPECT_EQ(ended.wait_for(protocol::kOutstandingMax + 1).size(), protocol::kOutstandingMax + 1);
}

TEST_F(Dispatch, TakesBackAGrantThatCameTooLate) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::LockAcquire) {
      return std::nullopt;
    }
    if (request.slot.kind == RequestKind::LockCancel) {
      FakeReply granted = error_reply(request, ErrorCode::AcquireGranted);
      granted.slot.token = 9;
      return granted;
    }
    return friendly_reply(request);
  });
  Client client = connect();
  Session session = open(client);
  Collected<Status> ended;
  session.acquire_async(
      "name", {.wait = 0s}, [&](const Result<Grant>& grant) { ended.add(grant.status()); });
  const auto acquire = cluster_.wait_for(RequestKind::LockAcquire, 1)[0];
  clock_->advance(5s);
  EXPECT_EQ(ended.wait_for(1)[0].detail(), kDetailDeadlineExceeded);
  const auto cancel = cluster_.wait_for(RequestKind::LockCancel, 1)[0];
  EXPECT_EQ(cancel.slot.sequence, acquire.slot.sequence);
  EXPECT_EQ(cancel.payload, "name");
  const auto release = cluster_.wait_for(RequestKind::LockRelease, 1)[0];
  EXPECT_EQ(release.slot.token, 9u);
}

TEST_F(Dispatch, DoesNotTakeBackALockThatTheSessionHeldBefore) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::LockAcquire) {
      return std::nullopt;
    }
    FakeReply held = error_reply(request, ErrorCode::AcquireGranted);
    held.slot.token = 9;
    held.slot.set(protocol::ReplyFlag::AlreadyHeld);
    return request.slot.kind == RequestKind::LockCancel ? held : friendly_reply(request);
  });
  Client client = connect();
  Session session = open(client);
  session.acquire_async("name", {.wait = 0s}, [](const Result<Grant>&) {});
  cluster_.wait_for(RequestKind::LockAcquire, 1);
  clock_->advance(5s);
  cluster_.wait_for(RequestKind::LockCancel, 1);
  ASSERT_TRUE(client.check("name", 9).ok()) << "a round trip: the cancel's answer has come";
  EXPECT_TRUE(cluster_.requests(RequestKind::LockRelease).empty());
}

// The release of a handle that is gone was lost with its node; the acquire behind it came first.
TEST_F(Dispatch, Row74ALockWhoseReleaseIsUnderWayIsNoLockToHandOut) {
  std::atomic<int> acquires{0};
  std::atomic<bool> released{false};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::LockRelease && !released) {
      return std::nullopt;
    }
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind == RequestKind::LockAcquire) {
      reply.slot.token = released ? 12 : 7;
      if (++acquires > 1 && !released) {
        reply.slot.set(protocol::ReplyFlag::AlreadyHeld);
      }
    }
    return reply;
  });
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  { const auto lock = session.acquire("name", {.wait = 0s}); }
  cluster_.wait_for(RequestKind::LockRelease, 1);
  Collected<std::uint64_t> tokens;
  session.acquire_async(
      "name", {.wait = 0s}, [&](const Result<Grant>& grant) { tokens.add(grant.value().token); });
  cluster_.wait_for(RequestKind::LockAcquire, 2);
  ASSERT_TRUE(client.check("name", 7).ok()) << "a round trip: the acquire's answer has come";
  released = true;
  clock_->advance(1s);
  EXPECT_EQ(tokens.wait_for(1)[0], 12u);
}

TEST_F(Dispatch, SendsAWaitAgainAfterAReconnectWithWhatIsLeftOfIt) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool wait = request.slot.kind == RequestKind::LockAcquire;
    return wait ? std::nullopt : std::optional{friendly_reply(request)};
  });
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  session.acquire_async("name", {.wait = 100s}, [](const Result<Grant>&) {});
  const auto first = cluster_.wait_for(RequestKind::LockAcquire, 1)[0];
  EXPECT_EQ(first.slot.deadline_ms, 100'000u);
  EXPECT_TRUE(first.slot.has(protocol::RequestFlag::Wait));
  clock_->advance(1s);
  cluster_.stop_node(first.node);
  const auto second = cluster_.wait_for(RequestKind::LockAcquire, 2)[1];
  EXPECT_NE(second.node, first.node);
  EXPECT_EQ(second.slot.sequence, first.slot.sequence);
  EXPECT_EQ(second.slot.deadline_ms, 99'000u);
}

TEST_F(Dispatch, SendsTogetherWhatWasQueuedTogether) {
  Client client = connect();
  ASSERT_TRUE(client.check("name", 1).ok());
  Collected<Result<Verdict>> verdicts;
  const std::uint64_t frames_before = client.statistics().frames;
  // From the client's own thread, so that all are queued before anything can be sent.
  client.check_async("name", 1, [&](const Result<Verdict>&) {
    for (int index = 0; index < 100; ++index) {
      client.check_async("name", 1, [&](Result<Verdict> verdict) { verdicts.add(verdict); });
    }
  });
  verdicts.wait_for(100);
  EXPECT_EQ(client.statistics().frames, frames_before + 2);
}

TEST_F(Dispatch, ReportsTheHolderOfABusyLock) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind != RequestKind::LockAcquire) {
      return friendly_reply(request);
    }
    FakeReply busy = error_reply(request, ErrorCode::LockBusy);
    busy.slot.token = 12;
    busy.slot.extra = 99;
    return busy;
  });
  Client client = connect();
  Session session = open(client);
  const auto lock = session.try_acquire("name");
  EXPECT_EQ(lock.status().detail(), kDetailLockBusy);
  EXPECT_THAT(lock.status().message(), HasSubstr("session 99, token 12"));
  EXPECT_FALSE(
      cluster_.requests(RequestKind::LockAcquire)[0].slot.has(protocol::RequestFlag::Wait));
}

TEST_F(Dispatch, RefusesABadNameWithoutAsking) {
  Client client = connect();
  Session session = open(client);
  EXPECT_EQ(session.acquire("").status().detail(), 1101u);
  EXPECT_EQ(session.release("name", 0).detail(), 1107u);
  EXPECT_EQ(client.get(std::string(2000, 'x')).status().detail(), 1102u);
  EXPECT_TRUE(cluster_.requests(RequestKind::LockAcquire).empty());
}

TEST_F(Dispatch, ChecksABatchInOneMessageAndAsksAloneForTheRest) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind != RequestKind::LockCheckBatch) {
      return friendly_reply(request);
    }
    FakeReply reply = ok_reply(request);
    reply.payload =
        protocol::text_of(protocol::encode_verdicts(std::vector{protocol::CheckVerdict::Stale,
                                                                protocol::CheckVerdict::NotLeader,
                                                                protocol::CheckVerdict::Free}));
    return reply;
  });
  Client client = connect();
  const std::vector<TokenCheck> checks{{"a", 1}, {"b", 2}, {"c", 3}};
  const auto verdicts = client.check_batch(checks);
  ASSERT_TRUE(verdicts.ok());
  EXPECT_EQ(verdicts.value(), (std::vector{Verdict::Stale, Verdict::Valid, Verdict::Free}));
  EXPECT_EQ(cluster_.requests(RequestKind::LockCheckBatch).size(), 1u);
  EXPECT_EQ(cluster_.requests(RequestKind::LockCheck).size(), 1u);
}

TEST_F(Dispatch, ListsNodeByNode) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = ok_reply(request);
    protocol::ListPage page;
    if (request.node != NodeId{2}) {
      page.rows.push_back({.name = "n" + std::to_string(request.node.value)});
    }
    reply.payload = protocol::text_of(protocol::encode_list_page(page));
    return reply;
  });
  Client client = connect();
  const auto first = client.list({});
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(first.value().locks.size(), 1u);
  EXPECT_EQ(first.value().locks[0].name, "n1");
  const auto second = client.list({.cursor = first.value().next_cursor});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second.value().locks[0].name, "n3");
  EXPECT_EQ(second.value().next_cursor, "");
}

class Listing : public ClientTest {
 protected:
  // Every node lists one lock of its own name, and node 3 adds what flags it is told to.
  void answer(protocol::ReplyFlag third_says = {}) {
    cluster_.answer_with([third_says](const FakeRequest& request) -> std::optional<FakeReply> {
      FakeReply reply = ok_reply(request);
      protocol::ListPage page;
      page.rows.push_back({.name = "n" + std::to_string(request.node.value)});
      if (request.node == NodeId{3}) {
        reply.slot.set(third_says);
      }
      reply.payload = protocol::text_of(protocol::encode_list_page(page));
      return reply;
    });
  }

  struct Listed {
    std::vector<std::string> names;
    bool complete = true;
  };

  static Listed list(Client& client) {
    Listed listed;
    ListOptions options;
    do {
      const auto page = client.list(options);
      EXPECT_TRUE(page.ok()) << page.status().to_string();
      for (const LockDescription& lock : page.value().locks) {
        listed.names.push_back(lock.name);
      }
      listed.complete = listed.complete && page.value().complete;
      options.cursor = page.value().next_cursor;
    } while (!options.cursor.empty());
    return listed;
  }
};

// A tool lists as soon as its first node welcomed it, and once left out the locks of the others.
TEST_F(Listing, WaitsForTheNodesThatAreNotConnectedYet) {
  answer();
  cluster_.keep_waiting(NodeId{2});
  cluster_.keep_waiting(NodeId{3});
  Client client = Client::connect(options()).value();
  auto listed = std::async(std::launch::async, [&] { return list(client); });
  for (int round = 0; round < 1000; ++round) {
    static_cast<void>(client.statistics());  // Round trips, for the list to begin meanwhile.
  }
  cluster_.go_on(NodeId{2});
  cluster_.go_on(NodeId{3});
  const Listed all = listed.get();
  EXPECT_EQ(all.names, (std::vector<std::string>{"n1", "n2", "n3"}));
  EXPECT_TRUE(all.complete);
}

TEST_F(Listing, SaysThatANodeCouldNotBeAsked) {
  answer();
  cluster_.stop_node(NodeId{2});
  Client client = Client::connect(options()).value();
  const Listed listed = list(client);
  EXPECT_EQ(listed.names, (std::vector<std::string>{"n1", "n3"}));
  EXPECT_FALSE(listed.complete);
}

// Lists of a minority looked empty and succeeded.
TEST_F(Listing, FailsWithoutAMajority) {
  answer();
  cluster_.stop_node(NodeId{2});
  cluster_.stop_node(NodeId{3});
  Client client = Client::connect(options()).value();
  const Status locks = client.list({}).status();
  EXPECT_EQ(locks.detail(), kDetailNoLeader) << locks.to_string();
  EXPECT_THAT(locks.message(), HasSubstr("1 of 3 nodes can be reached"));
  const Status sessions = client.list_sessions({}).status();
  EXPECT_EQ(sessions.detail(), kDetailNoLeader) << sessions.to_string();
}

// It said that no node could be reached, of a node that was connected.
TEST_F(Listing, AWatchThatAMinorityDoesNotStartLacksAMajority) {
  cluster_.answer_with([](const FakeRequest&) { return std::nullopt; });
  cluster_.stop_node(NodeId{2});
  cluster_.stop_node(NodeId{3});
  ClientOptions hasty = options();
  hasty.request_timeout = 50ms;
  Client client = Client::connect(hasty).value();
  EXPECT_EQ(client.watch({.prefix = ""}).status().detail(), kDetailNoLeader);
}

TEST_F(Listing, AsksANodeWhoseAddressOnlyAnotherNodeKnows) {
  answer();
  cluster_.hide_from_first(NodeId{3});
  ClientOptions one = options();
  one.endpoints.resize(1);
  Client client = Client::connect(one).value();
  const Listed listed = list(client);
  EXPECT_EQ(listed.names, (std::vector<std::string>{"n1", "n2", "n3"}));
  EXPECT_TRUE(listed.complete);
}

TEST_F(Listing, SaysThatANodeLeftLocksOut) {
  answer(protocol::ReplyFlag::Partial);
  Client client = connect();
  const Listed listed = list(client);
  EXPECT_EQ(listed.names.size(), 3u);
  EXPECT_FALSE(listed.complete);
}

}  // namespace
}  // namespace gcoord::client
