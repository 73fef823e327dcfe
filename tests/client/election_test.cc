// Elections: who leads, until when that is certain, and what resigning does.
#include "gcoord/election.h"

#include "client/records/term_fence.h"
#include "protocol/lock_messages.h"
#include "protocol/session_messages.h"
#include "tests/client/client_fixture.h"

#include <atomic>
#include <optional>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::ErrorCode;
using protocol::RequestKind;

class ElectionTest : public ClientTest {
 protected:
  void SetUp() override {
    request_timeout_ = 1min;
    cluster_.answer_with([this](const FakeRequest& request) { return answer(request); });
  }

  std::optional<FakeReply> answer(const FakeRequest& request) {
    if (request.slot.kind == RequestKind::KeepAlive && !answering_.load()) {
      return std::nullopt;
    }
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind == RequestKind::LockAcquire) {
      reply.slot.token = token_.load();
    }
    return reply;
  }

  std::atomic<bool> answering_{true};
  std::atomic<std::uint64_t> token_{7};
};

TEST_F(ElectionTest, E1ACampaignWaitsInLineAndMakesALeader) {
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  EXPECT_FALSE(election.is_leader());
  EXPECT_EQ(election.epoch(), 0u);
  EXPECT_TRUE(election.campaign().ok());
  EXPECT_TRUE(election.is_leader());
  const FakeRequest acquire = cluster_.requests(RequestKind::LockAcquire)[0];
  EXPECT_EQ(acquire.payload, "chief");
  EXPECT_TRUE(acquire.slot.has(protocol::RequestFlag::Wait));
  EXPECT_EQ(acquire.slot.deadline_ms, protocol::kForeverMs);
}

TEST_F(ElectionTest, E1ACampaignThatEndsWithoutAGrantMakesNoLeader) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::LockAcquire
               ? error_reply(request, ErrorCode::WaitTimedOut)
               : friendly_reply(request);
  });
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  EXPECT_EQ(election.campaign({.wait = 1s}).detail(), kDetailWaitTimedOut);
  EXPECT_FALSE(election.is_leader());
  EXPECT_EQ(election.epoch(), 0u);
}

FakeReply lock_row(const FakeRequest& request, SessionId holder) {
  protocol::LockRow row;
  row.name = request.payload;
  row.holder = holder;
  row.token = FencingToken{5};
  row.ttl_left_ms = 1234;
  row.waiter_count = 2;
  FakeReply reply = ok_reply(request);
  const bool details = request.slot.has(protocol::RequestFlag::Details);
  reply.payload = protocol::text_of(details ? protocol::encode_lock_details(row)
                                            : protocol::encode_lock_row(row));
  return reply;
}

TEST_F(ElectionTest, E3TheLeaderIsNamedWithItsEpoch) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    return lock_row(request, SessionId{99});
  });
  Client client = connect();
  const auto leader = client.leader("chief");
  ASSERT_TRUE(leader.ok()) << leader.status().to_string();
  EXPECT_EQ(leader.value().session_id, 99u);
  EXPECT_EQ(leader.value().epoch, 5u);
  EXPECT_EQ(leader.value().ttl_left, 1234ms);
  EXPECT_EQ(leader.value().candidates_waiting, 2u);
  EXPECT_EQ(client.leader_async("chief").get().value().epoch, 5u);
}

TEST_F(ElectionTest, E3NobodyLeadsIsACodeOfItsOwn) {
  std::atomic<ErrorCode> code{ErrorCode::LockAbsent};
  cluster_.answer_with([&code](const FakeRequest& request) -> std::optional<FakeReply> {
    return error_reply(request, code);
  });
  Client client = connect();
  EXPECT_EQ(client.leader("chief").status().detail(), kDetailElectionVacant);
  EXPECT_EQ(client.leader("chief").status().code(), StatusCode::NotFound);
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    return lock_row(request, SessionId{});
  });
  EXPECT_EQ(client.leader("chief").status().detail(), kDetailElectionVacant)
      << "a lock that is waited for and not held";
  EXPECT_EQ(client.leader("").status().detail(), 1101u) << "which is no answer about a leader";
}

TEST_F(ElectionTest, E3WhatCannotBeFoundOutIsNotCalledVacant) {
  cluster_.answer_with([](const FakeRequest&) -> std::optional<FakeReply> { return std::nullopt; });
  Client client = connect();
  auto leader = client.leader_async("chief");
  cluster_.wait_for(RequestKind::LockGet, 1);
  clock_->advance(request_timeout_);
  EXPECT_EQ(leader.get().status().detail(), kDetailDeadlineExceeded);
}

TEST_F(ElectionTest, E5AResignationIsSentUnderItsEpoch) {
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign().ok());
  EXPECT_TRUE(election.resign().ok());
  EXPECT_FALSE(election.is_leader());
  EXPECT_EQ(election.epoch(), 7u) << "of the last term of office";
  EXPECT_EQ(cluster_.requests(RequestKind::LockRelease)[0].slot.token, 7u);
}

TEST_F(ElectionTest, E5IsNoLeaderFromTheResignationOnWhateverComesOfIt) {
  cluster_.answer_with([this](const FakeRequest& request) {
    return request.slot.kind == RequestKind::LockRelease ? std::nullopt : answer(request);
  });
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign().ok());
  auto resigned = election.resign_async();
  EXPECT_FALSE(election.is_leader());
  cluster_.wait_for(RequestKind::LockRelease, 1);
  EXPECT_FALSE(resigned.ready());
}

TEST_F(ElectionTest, E5AStaleResignationIsANoOp) {
  cluster_.answer_with([this](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::LockRelease
               ? error_reply(request, ErrorCode::TokenStale)
               : answer(request);
  });
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  EXPECT_TRUE(election.resign().ok()) << "before any campaign";
  ASSERT_TRUE(election.campaign().ok());
  EXPECT_TRUE(election.resign().ok()) << "somebody else leads under a higher epoch";
  EXPECT_TRUE(election.resign().ok());
  EXPECT_EQ(cluster_.requests(RequestKind::LockRelease).size(), 1u);
}

// Nodes that leave the first campaign in the queue, and say later that it was granted.
class GivenUpCampaign : public ElectionTest {
 protected:
  static FakeReply granted_at_the_cancel(const FakeRequest& cancel) {
    FakeReply granted = error_reply(cancel, ErrorCode::AcquireGranted);
    granted.slot.token = 7;
    return granted;
  }
};

TEST_F(GivenUpCampaign, E5AResignationTakesACampaignThatWaitsOutOfTheQueueAtOnce) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::LockAcquire ? std::nullopt
                                                         : std::optional{friendly_reply(request)};
  });
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  auto campaign = election.campaign_async();
  const auto acquire = cluster_.wait_for(RequestKind::LockAcquire, 1)[0];
  EXPECT_TRUE(election.resign().ok());
  ASSERT_TRUE(campaign.wait_for(1min)) << "nobody has granted it";
  EXPECT_EQ(campaign.get().detail(), kDetailWaitCancelled);
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockCancel, 1)[0].slot.sequence, acquire.slot.sequence);
}

TEST_F(GivenUpCampaign, ACandidateThatIsDestroyedLeavesTheQueue) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::LockAcquire ? std::nullopt
                                                         : std::optional{friendly_reply(request)};
  });
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  {
    Election election = session.election("chief");
    auto campaign = election.campaign_async();
    cluster_.wait_for(RequestKind::LockAcquire, 1);
  }
  cluster_.wait_for(RequestKind::LockCancel, 1);
}

TEST_F(GivenUpCampaign, E5ResigningDuringACampaignGivesTheGrantBack) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    switch (request.slot.kind) {
      case RequestKind::LockAcquire:
        return std::nullopt;
      case RequestKind::LockCancel:
        return granted_at_the_cancel(request);
      default:
        return friendly_reply(request);
    }
  });
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  auto campaign = election.campaign_async();
  cluster_.wait_for(RequestKind::LockAcquire, 1);
  EXPECT_TRUE(election.resign().ok());
  EXPECT_EQ(campaign.get().detail(), kDetailWaitCancelled);
  EXPECT_FALSE(election.is_leader());
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 1)[0].slot.token, 7u);
}

// The second campaign is answered "already held", by the first one's grant, which is being
// released.
TEST_F(GivenUpCampaign, E5NobodyLeadsByATokenWhoseReleaseIsUnderWay) {
  std::atomic<int> acquires{0};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::LockCancel) {
      return granted_at_the_cancel(request);
    }
    if (request.slot.kind != RequestKind::LockAcquire) {
      return friendly_reply(request);
    }
    token_ = ++acquires <= 2 ? 7 : 12;
    return acquires == 1 ? std::nullopt : answer(request);
  });
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  auto given_up = election.campaign_async();
  EXPECT_TRUE(election.resign().ok());
  EXPECT_EQ(given_up.get().detail(), kDetailWaitCancelled);
  cluster_.wait_for(RequestKind::LockRelease, 1);
  auto wanted = election.campaign_async();
  EXPECT_TRUE(wanted.get().ok());
  EXPECT_TRUE(election.is_leader());
  EXPECT_EQ(election.epoch(), 12u);
  for (const FakeRequest& release : cluster_.requests(RequestKind::LockRelease)) {
    EXPECT_EQ(release.slot.token, 7u);
  }
}

// A later campaign was told of the grant before the cancel of the first one's was: it is in use.
TEST_F(GivenUpCampaign, AGrantByWhichALaterCampaignLeadsIsNotReleased) {
  std::atomic<int> acquires{0};
  std::optional<FakeRequest> cancel;  // Of the cluster's thread.
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::LockCancel) {
      cancel = request;
      return std::nullopt;
    }
    if (request.slot.kind != RequestKind::LockAcquire) {
      return friendly_reply(request);
    }
    if (++acquires == 1) {
      return std::nullopt;
    }
    std::optional<FakeReply> granted = answer(request);
    granted->slot.set(protocol::ReplyFlag::AlreadyHeld);
    granted->then.push_back(granted_at_the_cancel(cancel.value()));
    return granted;
  });
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  auto given_up = election.campaign_async();
  cluster_.wait_for(RequestKind::LockAcquire, 1);
  EXPECT_TRUE(election.resign().ok());
  EXPECT_EQ(given_up.get().detail(), kDetailWaitCancelled);
  cluster_.wait_for(RequestKind::LockCancel, 1);
  EXPECT_TRUE(election.campaign().ok());
  EXPECT_TRUE(client.check("chief", 7).ok()) << "whatever was released came before this answer";
  EXPECT_TRUE(election.is_leader());
  EXPECT_TRUE(cluster_.requests(RequestKind::LockRelease).empty());
  EXPECT_TRUE(election.resign().ok());
  EXPECT_EQ(cluster_.requests(RequestKind::LockRelease)[0].slot.token, 7u);
}

TEST_F(ElectionTest, E5AResignationIsOneForAllCandidatesOfItsSession) {
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election first = session.election("chief");
  Election second = session.election("chief");
  ASSERT_TRUE(first.campaign().ok());
  ASSERT_TRUE(second.campaign().ok());
  EXPECT_TRUE(first.resign().ok());
  EXPECT_FALSE(second.is_leader()) << "by the lock that is released";
}

TEST(TermFence, ATokenThatWasGivenUpIsOverAndOneThatIsLedByIsNotReleasedForAnEarlierCampaign) {
  TermFence office;
  EXPECT_TRUE(office.take(7));
  EXPECT_FALSE(office.leave_unless_led(7));
  EXPECT_FALSE(office.over(7));
  office.leave(7);
  EXPECT_TRUE(office.over(7));
  EXPECT_FALSE(office.take(7));
  EXPECT_TRUE(office.take(9));
  EXPECT_TRUE(office.leave_unless_led(7)) << "once more";
  EXPECT_FALSE(office.over(9));
}

// A node may elect another 9 s after the last acknowledged keep-alive was sent, by a clock that
// runs up to 1 % faster than this one: 9 s there are at least 8.91 s here.
TEST_F(ElectionTest, E7IsLeaderTurnsFalseBeforeANodeCouldElectAnother) {
  answering_ = false;
  Client client = connect();
  const TimePoint opened_after = client.now();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign().ok());
  EXPECT_EQ(election.leader_until(), opened_after + 8900ms);
  EXPECT_LE(election.leader_until(), opened_after + 9s - 9s / 100);
  EXPECT_TRUE(election.is_leader(election.leader_until() - 1ns));
  EXPECT_FALSE(election.is_leader(election.leader_until()));
  clock_->advance(8900ms - 1ns);
  EXPECT_TRUE(election.is_leader());
  clock_->advance(1ns);
  EXPECT_FALSE(election.is_leader()) << "with no message and no event";
}

TEST_F(ElectionTest, E7TheMarginFollowsTheConfiguredDrift) {
  answering_ = false;
  ClientOptions careful = options();
  careful.drift_divisor = 10;
  careful.drift_margin = 50ms;
  auto client = Client::connect(careful);
  ASSERT_TRUE(client.ok());
  const TimePoint opened_after = client.value().now();
  Session session = open(client.value(), {.ttl = 9s});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign().ok());
  EXPECT_EQ(election.leader_until(), opened_after + 9s - 900ms - 50ms);
}

TEST_F(ElectionTest, E7StaysFalseAfterTheSessionWasLostThoughNodesAnswerAgain) {
  answering_ = false;
  Client client = connect();
  Collected<SessionEvent> events;
  Session session =
      open(client, {.ttl = 9s, .on_event = [&](SessionEvent event) { events.add(event); }});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign().ok());
  clock_->advance(9s);
  EXPECT_EQ(events.wait_for(2).back(), SessionEvent::Expired);
  answering_ = true;
  EXPECT_EQ(session.renew().detail(), kDetailSessionExpired);
  EXPECT_FALSE(election.is_leader());
  EXPECT_EQ(election.leader_until(), TimePoint{});
  EXPECT_EQ(election.campaign().detail(), kDetailSessionExpired);
  EXPECT_TRUE(election.resign().ok());
}

TEST_F(ElectionTest, E8TheEpochIsTheFencingTokenOfEachTermOfOffice) {
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign().ok());
  EXPECT_EQ(election.epoch(), 7u);
  ASSERT_TRUE(election.resign().ok());
  token_ = 12;
  ASSERT_TRUE(election.campaign().ok());
  EXPECT_EQ(election.epoch(), 12u);
}

TEST_F(ElectionTest, ACandidateThatIsDestroyedResigns) {
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  {
    Election election = session.election("chief");
    ASSERT_TRUE(election.campaign().ok());
  }
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 1)[0].slot.token, 7u);
}

}  // namespace
}  // namespace gcoord::client
