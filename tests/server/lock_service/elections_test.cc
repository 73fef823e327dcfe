// Elections beyond campaigning: what a node says to a leader, to its line, and to whoever asks it.
#include "protocol/election_messages.h"
#include "server/lock_service/lock_service.h"
#include "server/requests/election_asks.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

class ElectionsTest : public testing::Test {
 protected:
  void SetUp() override { bench_.lead_all(); }

  protocol::RequestSlot office(RequestKind kind,
                               std::uint64_t session,
                               std::uint64_t sequence) const {
    protocol::RequestSlot slot = bench_.slot(kind);
    slot.session = session;
    slot.sequence = sequence;
    slot.acked_below = 1;
    slot.shard = LockBench::shard_of_name("chief").value;
    return slot;
  }

  KeptReply proclaim(std::uint64_t session,
                     std::uint64_t sequence,
                     std::uint64_t epoch,
                     std::string_view value) {
    protocol::RequestSlot slot = office(RequestKind::ElectProclaim, session, sequence);
    slot.token = epoch;
    return bench_.decided(bench_.send(slot, protocol::encode_proclamation({"chief", value})));
  }

  KeptReply transfer(std::uint64_t session,
                     std::uint64_t sequence,
                     std::uint64_t epoch,
                     std::uint64_t target) {
    protocol::RequestSlot slot = office(RequestKind::ElectTransfer, session, sequence);
    slot.token = epoch;
    return bench_.decided(
        bench_.send(slot, protocol::encode_nomination({SessionId{target}, "chief"})));
  }

  KeptReply ask(std::uint64_t epoch, std::uint64_t target) {
    protocol::RequestSlot slot = bench_.slot(RequestKind::ElectAsk);
    slot.token = epoch;
    return bench_.sink.take(
        bench_.send(slot, protocol::encode_nomination({SessionId{target}, "chief"})));
  }

  protocol::CandidateList candidates() {
    const auto id = bench_.send(bench_.slot(RequestKind::ElectCandidates), "chief");
    bench_.engine.confirm_reads(*bench_.service);
    const auto list = protocol::decode_candidates(bench_.sink.take(id).payload);
    EXPECT_TRUE(list.ok());
    return list.ok() ? list.value() : protocol::CandidateList{};
  }

  static std::uint32_t number(ErrorCode code) { return static_cast<std::uint32_t>(code); }

  LockBench bench_;
};

TEST_F(ElectionsTest, E2ALeadersValueIsReadAndADeposedOnesRefusedWithItsOwnNumber) {
  const auto leads = bench_.decided(bench_.acquire(5, 1, "chief"));
  EXPECT_EQ(proclaim(5, 2, leads.slot.token, "a:1").slot.code, StatusCode::Ok);
  EXPECT_EQ(candidates().value, "a:1");
  EXPECT_EQ(candidates().epoch.value, leads.slot.token);
  const auto next = bench_.acquire(6, 1, "chief", protocol::kForeverMs);
  bench_.decide();
  bench_.decided(bench_.release(5, 3, "chief", leads.slot.token));
  EXPECT_EQ(proclaim(5, 4, leads.slot.token, "late").slot.detail, number(ErrorCode::OfficeLost));
  EXPECT_EQ(bench_.sink.take(next).slot.code, StatusCode::Ok);
  EXPECT_EQ(candidates().value, "");
}

TEST_F(ElectionsTest, E2AValueByTokenNeedsNoNumber) {
  const auto leads = bench_.decided(bench_.acquire(5, 1, "chief"));
  protocol::RequestSlot slot = office(RequestKind::ElectProclaim, 5, 0);
  slot.acked_below = 0;
  slot.token = leads.slot.token;
  slot.set(protocol::RequestFlag::ByToken);
  const auto said =
      bench_.decided(bench_.send(slot, protocol::encode_proclamation({"chief", "b"})));
  EXPECT_EQ(said.slot.code, StatusCode::Ok);
  EXPECT_EQ(candidates().value, "b");
}

TEST_F(ElectionsTest, E6ATransferAnswersTheWaiterAndTheLeader) {
  const auto leads = bench_.decided(bench_.acquire(5, 1, "chief"));
  bench_.acquire(6, 1, "chief", protocol::kForeverMs);
  const auto target =
      bench_.acquire_hold(7, 1, {.flags = 64, .permits = 9, .name = "chief", .note = "gpu7"});
  bench_.decide();
  EXPECT_EQ(transfer(5, 2, leads.slot.token, 8).slot.detail, number(ErrorCode::CandidateAbsent));
  const auto given = transfer(5, 3, leads.slot.token, 7);
  EXPECT_EQ(given.slot.code, StatusCode::Ok);
  EXPECT_GT(given.slot.token, leads.slot.token);
  EXPECT_EQ(given.slot.extra, 7u);
  EXPECT_EQ(bench_.sink.take(target).slot.token, given.slot.token);
  EXPECT_EQ(candidates().leader, SessionId{7});
  EXPECT_EQ(candidates().value, "gpu7");
  EXPECT_EQ(transfer(5, 4, leads.slot.token, 6).slot.detail, number(ErrorCode::OfficeLost));
}

TEST_F(ElectionsTest, E6AnAskIsReadWithTheLineAndNothingElseChanges) {
  const auto leads = bench_.decided(bench_.acquire(5, 1, "chief", 0, 60'000));
  EXPECT_EQ(ask(0, 6).slot.detail, number(ErrorCode::CandidateAbsent));
  bench_.acquire(6, 1, "chief", protocol::kForeverMs, 60'000);
  bench_.decide();
  EXPECT_EQ(ask(leads.slot.token + 1, 6).slot.detail, number(ErrorCode::OfficeLost));
  EXPECT_EQ(candidates().wanted, SessionId{});
  EXPECT_EQ(ask(leads.slot.token, 6).slot.code, StatusCode::Ok);
  EXPECT_EQ(candidates().wanted, SessionId{6});
  EXPECT_EQ(candidates().leader, SessionId{5});
  bench_.pass_ms(TransferRequests::kStandsMs + 20);
  EXPECT_EQ(candidates().wanted, SessionId{}) << "who still wants it asks again";
  protocol::RequestSlot slot = bench_.slot(RequestKind::ElectAsk);
  const auto vacant = bench_.send(slot, protocol::encode_nomination({SessionId{6}, "other"}));
  EXPECT_EQ(bench_.sink.take(vacant).slot.detail, number(ErrorCode::ElectionVacant));
}

TEST_F(ElectionsTest, E9TheLineShowsRanksAndValues) {
  bench_.decided(bench_.acquire(5, 1, "chief"));
  bench_.acquire(6, 1, "chief", protocol::kForeverMs);
  bench_.acquire_hold(7, 4, {.flags = 64, .permits = 9, .name = "chief", .note = "gpu7"});
  bench_.decide();
  bench_.pass_ms(50);
  const protocol::CandidateList list = candidates();
  ASSERT_EQ(list.candidates.size(), 2u);
  EXPECT_EQ(list.waiter_count, 2u);
  EXPECT_EQ(list.candidates[0].session, SessionId{6});
  EXPECT_EQ(list.candidates[0].rank, 0u);
  EXPECT_EQ(list.candidates[1].rank, 9u);
  EXPECT_EQ(list.candidates[1].value, "gpu7");
  EXPECT_EQ(list.candidates[1].sequence, RequestSequence{4});
  EXPECT_EQ(list.candidates[1].waited_ms, 50u);
}

TEST_F(ElectionsTest, WhoseTurnIsOnADeviceRefusesWithItsOwnNumber) {
  const auto leads = bench_.decided(bench_.acquire(5, 1, "chief"));
  bench_.engine.holds = false;
  protocol::RequestSlot slot = office(RequestKind::ElectTransfer, 5, 2);
  slot.token = leads.slot.token;
  const auto id = bench_.send(slot, protocol::encode_nomination({SessionId{6}, "chief"}));
  EXPECT_EQ(bench_.sink.take(id).slot.detail, number(ErrorCode::ElectionsUnsupported));
  slot.kind = RequestKind::ElectProclaim;
  const auto said = bench_.send(slot, protocol::encode_proclamation({"chief", "x"}));
  EXPECT_EQ(bench_.sink.take(said).slot.detail, number(ErrorCode::ElectionsUnsupported));
}

TEST_F(ElectionsTest, MalformedRequestsAreRefusedBeforeTheLog) {
  protocol::RequestSlot slot = office(RequestKind::ElectTransfer, 5, 2);
  slot.token = 1;
  const auto refused = [&](std::span<const std::byte> payload) {
    const auto reply = bench_.sink.take(bench_.send(slot, payload));
    EXPECT_EQ(bench_.engine.proposals.size(), 0u);
    return reply.slot.detail;
  };
  EXPECT_EQ(refused(protocol::bytes_of("abc")), number(ErrorCode::PayloadMalformed));
  EXPECT_EQ(refused(protocol::encode_nomination({SessionId{}, "chief"})),
            number(ErrorCode::SessionZero));
  EXPECT_EQ(refused(protocol::encode_nomination({SessionId{1}, ""})), number(ErrorCode::NameEmpty));
  slot.token = 0;
  EXPECT_EQ(refused(protocol::encode_nomination({SessionId{1}, "a"})),
            number(ErrorCode::TokenZero));
  slot.token = 1;
  slot.kind = RequestKind::ElectProclaim;
  EXPECT_EQ(refused(protocol::encode_proclamation({"a", std::string(513, 'x')})),
            number(ErrorCode::NoteTooLong));
  EXPECT_EQ(refused(protocol::bytes_of("\xff\xff")), number(ErrorCode::PayloadMalformed));
}

TEST(ElectionAsksTest, AsksAreBoundedAndMakeRoomWhenTheyHavePassed) {
  TransferRequests asks{10};
  for (std::uint64_t name = 0; name < TransferRequests::kAsksMax; ++name) {
    EXPECT_TRUE(asks.ask({name, 0}, FencingToken{1}, SessionId{2}, Tick{1}));
  }
  EXPECT_FALSE(asks.ask({0, 1}, FencingToken{1}, SessionId{2}, Tick{1}));
  EXPECT_TRUE(asks.ask({7, 0}, FencingToken{2}, SessionId{3}, Tick{1})) << "a name that is there";
  EXPECT_EQ(asks.wanted({7, 0}, FencingToken{1}, Tick{2}), SessionId{}) << "of another term";
  EXPECT_EQ(asks.wanted({7, 0}, FencingToken{2}, Tick{2}), SessionId{3});
  EXPECT_TRUE(asks.ask({0, 1}, FencingToken{1}, SessionId{2}, Tick{9'999}));
  EXPECT_EQ(asks.size(), 1u);
}

}  // namespace
}  // namespace gcoord::server
