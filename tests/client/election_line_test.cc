// What a leader does with its line: it says a value, hands over when it is asked or by priority,
// and never leads while somebody else may.
#include "client/elections/succession.h"
#include "client/records/term_fence.h"
#include "gcoord/election.h"
#include "protocol/election_messages.h"
#include "protocol/lock_messages.h"
#include "tests/client/client_fixture.h"

#include <atomic>
#include <future>
#include <mutex>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::ErrorCode;
using protocol::RequestKind;

class ElectionLineTest : public ClientTest {
 protected:
  void SetUp() override {
    request_timeout_ = 1min;
    cluster_.answer_with([this](const FakeRequest& request) { return answer(request); });
  }

  std::optional<FakeReply> answer(const FakeRequest& request) {
    switch (request.slot.kind) {
      case RequestKind::ElectTransfer:
        if (!answering_.load()) {
          return std::nullopt;
        }
        return refusal_.load() == ErrorCode::None ? ok_reply(request)
                                                  : error_reply(request, refusal_.load());
      case RequestKind::ElectCandidates: {
        const std::lock_guard lock{mutex_};
        FakeReply reply = ok_reply(request);
        reply.payload = protocol::text_of(protocol::encode_candidates(line_));
        return reply;
      }
      default:
        return friendly_reply(request);
    }
  }

  void see(const protocol::CandidateList& line) {
    const std::lock_guard lock{mutex_};
    line_ = line;
    line_.leader = SessionId{41};
    line_.epoch = FencingToken{7};
  }

  // The leader looks once more, `interval` later, and has seen what there is when this returns: a
  // question behind its own, to the same node, was answered.
  void look(Client& client, std::chrono::milliseconds interval) {
    const std::size_t before = cluster_.requests(RequestKind::ElectCandidates).size();
    clock_->advance(interval);
    cluster_.wait_for(RequestKind::ElectCandidates, before + 1);
    EXPECT_TRUE(client.check("chief", 7).ok());
  }

  static SessionId target_of(const FakeRequest& request) {
    return protocol::decode_nomination(protocol::bytes_of(request.payload)).value().target;
  }

  std::atomic<bool> answering_{true};
  std::atomic<ErrorCode> refusal_{ErrorCode::None};
  std::mutex mutex_;
  protocol::CandidateList line_;
};

TEST_F(ElectionLineTest, E2AValueIsSaidUnderTheEpochInTheSessionsWindow) {
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  EXPECT_EQ(election.proclaim("early").detail(), kDetailOfficeLost);
  ASSERT_TRUE(election.campaign({.value = "a:1", .priority = 9}).ok());
  const FakeRequest campaign = cluster_.requests(RequestKind::LockAcquireHold)[0];
  const auto hold = protocol::decode_hold(protocol::bytes_of(campaign.payload));
  ASSERT_TRUE(hold.ok());
  EXPECT_EQ(hold.value().note, "a:1");
  EXPECT_EQ(hold.value().permits, 9u);
  EXPECT_TRUE(election.proclaim("a:2").ok());
  EXPECT_TRUE(election.is_leader());
  EXPECT_EQ(election.proclaim(std::string(513, 'x')).detail(), 6024u);
  const auto said = cluster_.requests(RequestKind::ElectProclaim);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].slot.token, 7u);
  EXPECT_GT(said[0].slot.sequence, campaign.slot.sequence);
  EXPECT_EQ(protocol::decode_proclamation(protocol::bytes_of(said[0].payload)).value().value,
            "a:2");
}

TEST_F(ElectionLineTest, E6IsNoLeaderFromTheTransferOn) {
  answering_ = false;
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign().ok());
  auto given = election.transfer_async(99);
  EXPECT_FALSE(election.is_leader());
  cluster_.wait_for(RequestKind::ElectTransfer, 1);
  EXPECT_EQ(election.transfer(98).detail(), kDetailOfficeLost) << "it is under way";
  EXPECT_EQ(election.proclaim("late").detail(), kDetailOfficeLost);
}

TEST_F(ElectionLineTest, E6ALeaderWhoHandedOverHasNothingToResign) {
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign().ok());
  EXPECT_TRUE(election.transfer(99).ok());
  EXPECT_FALSE(election.is_leader());
  EXPECT_TRUE(election.resign().ok());
  EXPECT_TRUE(cluster_.requests(RequestKind::LockRelease).empty());
  const FakeRequest sent = cluster_.requests(RequestKind::ElectTransfer)[0];
  EXPECT_EQ(sent.slot.token, 7u);
  EXPECT_EQ(target_of(sent), SessionId{99});
}

TEST_F(ElectionLineTest, E6ALeaderWhoseTransferChangedNothingLeadsOnUnderItsEpoch) {
  refusal_ = ErrorCode::CandidateAbsent;
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign().ok());
  EXPECT_EQ(election.transfer(99).detail(), kDetailCandidateAbsent);
  EXPECT_TRUE(election.is_leader());
  EXPECT_EQ(election.epoch(), 7u);
  refusal_ = ErrorCode::OfficeLost;
  EXPECT_EQ(election.transfer(99).detail(), kDetailOfficeLost);
  EXPECT_FALSE(election.is_leader()) << "somebody else does";
}

TEST_F(ElectionLineTest, E6ALeaderThatCannotKnowWhatCameOfItLeadsNoMoreAndGivesUp) {
  answering_ = false;
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign().ok());
  auto given = election.transfer_async(99);
  cluster_.wait_for(RequestKind::ElectTransfer, 1);
  clock_->advance(request_timeout_);
  EXPECT_FALSE(given.get().ok());
  EXPECT_FALSE(election.is_leader());
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 1)[0].slot.token, 7u);
}

// A resignation during the transfer has the last word, though the transfer changes nothing.
TEST_F(ElectionLineTest, E7ATransferThatChangedNothingDoesNotUndoAResignation) {
  TermFence office;
  ASSERT_TRUE(office.take(7));
  ASSERT_TRUE(office.suspend(7));
  EXPECT_FALSE(office.suspend(7));
  office.leave(7);
  office.resume(7);
  EXPECT_TRUE(office.over(7));
  ASSERT_TRUE(office.take(9));
  ASSERT_TRUE(office.suspend(9));
  EXPECT_TRUE(office.over(9));
  office.resume(9);
  EXPECT_FALSE(office.over(9));
}

TEST_F(ElectionLineTest, E6ALeaderThatIsAskedHandsOverWithItsNextLook) {
  see({.wanted = SessionId{98}, .candidates = {{.session = SessionId{99}}}});
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign({.review = 1s}).ok());
  look(client, 1s);
  look(client, 1s);
  EXPECT_TRUE(election.is_leader()) << "who is wanted does not wait";
  see({.wanted = SessionId{99}, .candidates = {{.session = SessionId{99}}}});
  look(client, 1s);
  EXPECT_EQ(target_of(cluster_.wait_for(RequestKind::ElectTransfer, 1)[0]), SessionId{99});
  EXPECT_FALSE(election.is_leader());
}

// A look that was due while a transfer was under way ended all looks of the term.
TEST_F(ElectionLineTest, E6ALeaderLooksOnAfterATransferThatChangedNothing) {
  refusal_ = ErrorCode::CandidateAbsent;
  std::promise<void> go_on;
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool first =
        request.slot.kind == RequestKind::ElectTransfer && target_of(request) == SessionId{98};
    if (first) {
      go_on.get_future().wait();
    }
    return answer(request);
  });
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign({.review = 1s}).ok());
  auto given = election.transfer_async(98);
  EXPECT_FALSE(election.is_leader());
  clock_->advance(1s);
  client.statistics();  // The look that was due has been left out.
  go_on.set_value();
  EXPECT_EQ(given.get().detail(), kDetailCandidateAbsent);
  EXPECT_TRUE(election.is_leader());
  refusal_ = ErrorCode::None;
  see({.wanted = SessionId{99}, .candidates = {{.session = SessionId{99}}}});
  look(client, 1s);
  EXPECT_EQ(target_of(cluster_.wait_for(RequestKind::ElectTransfer, 2)[1]), SessionId{99});
}

// Its host stands still for longer than its lease: whoever comes next does not find it leading, and
// it hands nothing over that it has no more.
TEST_F(ElectionLineTest, E7APausedLeaderNeitherLeadsNorHandsOverWhenItGoesOn) {
  see({.wanted = SessionId{99}, .candidates = {{.session = SessionId{99}}}});
  Client client = connect();
  Session session = open(client, {.ttl = 9s});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign({.review = 1s}).ok());
  clock_->advance(10s);
  EXPECT_FALSE(election.is_leader());
  EXPECT_FALSE(session.renew().ok());
  EXPECT_TRUE(cluster_.requests(RequestKind::ElectTransfer).empty());
}

TEST_F(ElectionLineTest, E9APreferredCandidateTakesOverAfterTheHysteresis) {
  see({.candidates = {{.session = SessionId{98}, .rank = 5},
                      {.session = SessionId{99}, .rank = 6}}});
  Client client = connect();
  Session session = open(client, {.ttl = 1h});
  Election election = session.election("chief");
  ASSERT_TRUE(election.campaign({.priority = 5, .hysteresis = 3s, .review = 1s}).ok());
  for (int i = 0; i < 3; ++i) {
    look(client, 1s);
    EXPECT_TRUE(election.is_leader());
  }
  look(client, 1s);
  EXPECT_EQ(target_of(cluster_.wait_for(RequestKind::ElectTransfer, 1)[0]), SessionId{99});
}

CandidateView waits(std::uint64_t session, std::uint32_t priority, std::uint64_t sequence = 1) {
  return {.session_id = session, .sequence = sequence, .priority = priority};
}

TEST(Succession, E9OnlyHigherPrioritiesCountAndOfTheseTheHighestThenTheFirst) {
  Succession succession{SuccessionRules{.priority = 5, .hysteresis = 10s}};
  const std::vector<CandidateView> line = {waits(1, 5), waits(2, 6), waits(3, 9), waits(4, 9)};
  EXPECT_EQ(succession.look(line, 0s), 0u);
  EXPECT_EQ(succession.look(line, 10s), 3u);
  Succession highest{SuccessionRules{.priority = 9, .hysteresis = 0s}};
  EXPECT_EQ(highest.look(line, 10s), 0u);
  Succession never{SuccessionRules{.priority = 0}};
  EXPECT_EQ(never.look(line, 24h), 0u) << "no hysteresis";
}

TEST(Succession, E9ACandidateThatComesAndGoesMovesNothing) {
  Succession succession{SuccessionRules{.priority = 1, .hysteresis = 10s}};
  for (TimePoint now = 0s; now < 1h; now += 16s) {
    EXPECT_EQ(succession.look({waits(2, 9)}, now), 0u);
    EXPECT_EQ(succession.look({waits(2, 9)}, now + 8s), 0u);
    EXPECT_EQ(succession.look({}, now + 9s), 0u);
  }
  // Its session stays, but it campaigns anew: another wait.
  for (std::uint64_t sequence = 1; sequence < 100; ++sequence) {
    EXPECT_EQ(succession.look({waits(2, 9, sequence)}, 2h + sequence * 20s), 0u);
  }
}

TEST(Succession, E9AnOfficeChangesHandsAtMostOnceInTheHysteresis) {
  // Candidates of all priorities stand in line for ever; whoever hands over stands in line again.
  std::vector<CandidateView> line = {waits(1, 1), waits(2, 2), waits(3, 3), waits(4, 4)};
  CandidateView leader = waits(9, 0);
  std::uint64_t sequence = 1;
  int changes = 0;
  TimePoint changed_at = 0s;
  Succession succession{SuccessionRules{.hysteresis = 10s, .led_since = 0s}};
  for (TimePoint now = 0s; now < 1h; now += 1s) {
    const std::uint64_t target = succession.look(line, now);
    if (target == 0) {
      continue;
    }
    EXPECT_GE(now - changed_at, 10s);
    changed_at = now;
    ++changes;
    const auto next = std::ranges::find(line, target, &CandidateView::session_id);
    std::swap(leader, *next);
    next->sequence = ++sequence;
    succession = Succession{SuccessionRules{leader.priority, 10s, now}};
  }
  EXPECT_EQ(leader.session_id, 4u);
  EXPECT_EQ(changes, 1);
}

}  // namespace
}  // namespace gcoord::client
