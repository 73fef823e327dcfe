// Requests that wait while their rights change: at locks, groups and rendezvous.
#include "server/gate/wait_gate.h"

#include "protocol/error_codes.h"
#include "protocol/groups/messages.h"
#include "protocol/rendezvous/messages.h"
#include "tests/server/fake_engine.h"
#include "tests/server/gate/fake_gate.h"

#include <cstring>
#include <string>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;
using security::PrincipalKind;
using security::Right;

constexpr std::uint64_t kAnn = 1;
constexpr std::uint64_t kBob = 2;

class WaitGateTest : public testing::Test {
 protected:
  WaitGateTest() {
    clients_.principals[kAnn] = {PrincipalKind::User, "ann"};
    clients_.principals[kBob] = {PrincipalKind::User, "bob"};
    roles_.table.enabled = true;
    for (const char* user : {"ann", "bob"}) {
      roles_.grant(user, "jobs/", {Right::LockAcquire, Right::GroupJoin, Right::GroupRead});
    }
    bench_.lead_all();
    bench_.service->set_wait_judge(&gate_);
    held_ = bench_.decided(bench_.acquire(5, 1, "jobs/1")).slot.token;
    settle();
  }

  std::uint64_t wait_as(std::uint64_t client, std::string_view name, std::uint64_t sequence = 1) {
    bench_.connection = client;
    const auto id = bench_.acquire(10 + client, sequence, name, protocol::kForeverMs);
    bench_.decide();
    return id;
  }

  // A pass, and what it proposed, and a tick more for those that follow the clock.
  void settle() {
    for (int pass = 0; pass < 4; ++pass) {
      bench_.pass_ms(10);
      bench_.decide();
    }
  }

  bool answered(std::uint64_t request) const {
    return std::ranges::any_of(bench_.sink.replies, [&](const KeptReply& reply) {
      return reply.slot.request_id == request;
    });
  }

  void expect_refused(std::uint64_t request, std::string_view right) {
    ASSERT_TRUE(answered(request));
    const KeptReply reply = bench_.sink.take(request);
    EXPECT_EQ(reply.slot.detail, static_cast<std::uint32_t>(ErrorCode::NotAllowed));
    EXPECT_NE(text_of(reply).find(right), std::string::npos) << text_of(reply);
  }

  static std::string text_of(const KeptReply& reply) {
    std::string text(reply.payload.size(), '\0');
    if (!text.empty()) {
      std::memcpy(text.data(), reply.payload.data(), text.size());
    }
    return text;
  }

  std::uint64_t ended() {
    return roles_.metrics.counter({"gcoord_server_waits_not_allowed_total", "", "", ""}).value();
  }

  protocol::RequestSlot group_slot(RequestKind kind, std::uint64_t client) const {
    protocol::RequestSlot slot = bench_.slot(kind);
    slot.session = 10 + client;
    slot.sequence = 1;
    slot.acked_below = 1;
    slot.ttl_ms = 60'000;
    slot.deadline_ms = protocol::kForeverMs;
    slot.set(protocol::RequestFlag::Wait);
    return slot;
  }

  NamedClients clients_;
  FakeGate roles_{clients_};
  WaitGate gate_{roles_.gate};
  LockBench bench_;
  std::uint64_t held_ = 0;
};

TEST_F(WaitGateTest, AnAcquireThatWaitsEndsWhenItsRightIsTakenAwayAndTheNextOneIsGranted) {
  const auto ann = wait_as(kAnn, "jobs/1");
  const auto bob = wait_as(kBob, "jobs/1");
  settle();
  EXPECT_EQ(bench_.service->wait_count(), 2u);
  roles_.revoke("ann");
  settle();
  expect_refused(ann, "lock.acquire");
  EXPECT_FALSE(answered(bob));
  EXPECT_EQ(bench_.service->wait_count(), 1u);
  EXPECT_EQ(ended(), 1u);
  bench_.decided(bench_.release(5, 2, "jobs/1", held_));
  EXPECT_EQ(bench_.sink.take(bob).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench_.sink.parked, 0);
}

TEST_F(WaitGateTest, RightsThatComeBackLaterDoNotBringTheWaitBack) {
  const auto ann = wait_as(kAnn, "jobs/1");
  roles_.revoke("ann");
  bench_.pass_ms(10);  // The end is proposed.
  roles_.grant("ann", "jobs/", {Right::LockAcquire});
  bench_.decide();
  expect_refused(ann, "lock.acquire");
}

TEST_F(WaitGateTest, AWaitWhoseConnectionIsGoneIsJudgedByThePrincipalThatItHad) {
  wait_as(kAnn, "jobs/1");
  wait_as(kBob, "jobs/1");
  clients_.gone = {kAnn, kBob};
  clients_.principals.clear();
  roles_.revoke("ann");
  settle();
  EXPECT_EQ(bench_.service->wait_count(), 1u);  // Bob's: he may have it, and may come again.
}

TEST_F(WaitGateTest, AConnectionThatBecomesSomebodyElseWaitsByTheRightsOfThatOne) {
  roles_.grant("eve", "other/", {Right::LockAcquire});
  const auto ann = wait_as(kAnn, "jobs/1");
  settle();
  EXPECT_FALSE(answered(ann));
  clients_.principals[kAnn] = {PrincipalKind::User, "eve"};
  ++roles_.reidentified;
  settle();
  expect_refused(ann, "lock.acquire");
}

TEST_F(WaitGateTest, AGrantThatTheLogHasFirstStands) {
  const auto ann = wait_as(kAnn, "jobs/1");
  roles_.revoke("ann");
  const auto released = bench_.release(5, 2, "jobs/1", held_);
  bench_.pass_ms(10);  // Proposed behind the release.
  bench_.decide();
  EXPECT_EQ(bench_.sink.take(released).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench_.sink.take(ann).slot.code, StatusCode::Ok);
}

TEST_F(WaitGateTest, ManyWaitsAreJudgedInSlicesOfPasses) {
  constexpr std::uint64_t kWaits = 3000;
  for (std::uint64_t wait = 0; wait < kWaits; ++wait) {
    bench_.connection = kAnn;
    bench_.acquire(100 + wait, 1, "jobs/1", protocol::kForeverMs, 60'000);
    bench_.decide();
  }
  roles_.revoke("ann");
  bench_.pass_ms(10);
  EXPECT_EQ(bench_.service->until_next_deadline_ms(), 0u);
  EXPECT_LT(ended(), kWaits);
  while (bench_.service->wait_count() > 0) {
    bench_.pass_ms(10);
    bench_.decide();
  }
  EXPECT_EQ(ended(), kWaits);
  EXPECT_EQ(bench_.service->until_next_deadline_ms() == 0, false);
}

TEST_F(WaitGateTest, WhileRightsAreOffNothingIsJudged) {
  roles_.table.enabled = false;
  const auto ann = wait_as(kAnn, "jobs/1");
  roles_.revoke("ann");
  settle();
  EXPECT_FALSE(answered(ann));
  // Switched on they are judged, those from before, too.
  roles_.table.enabled = true;
  ++roles_.table.epoch;
  settle();
  expect_refused(ann, "lock.acquire");
}

TEST_F(WaitGateTest, BarriersAndLooksAtGroupsEndLikewise) {
  protocol::RequestSlot slot = group_slot(RequestKind::GroupJoin, kAnn);
  slot.shard = LockBench::shard_of_name("jobs/g").value;
  bench_.connection = kAnn;
  bench_.decided(bench_.send(slot, protocol::encode_group_join({"jobs/g", "a", ""})));
  slot.kind = RequestKind::GroupBarrier;
  slot.sequence = 2;
  const auto barrier = bench_.send(slot, protocol::encode_group_arrival({2, "jobs/g"}));
  bench_.decide();
  slot.kind = RequestKind::GroupGet;
  slot.session = slot.sequence = slot.acked_below = slot.ttl_ms = 0;
  const auto look = bench_.send(
      slot,
      protocol::encode_group_query(
          {bench_.service->group_machine().groups().epoch(ShardId{slot.shard}, hash_name("jobs/g")),
           1,
           "jobs/g"}));
  bench_.engine.confirm_reads(*bench_.service);
  settle();
  EXPECT_FALSE(answered(barrier));
  EXPECT_FALSE(answered(look));
  roles_.revoke("ann");
  settle();
  expect_refused(barrier, "group.join");
  expect_refused(look, "group.read");
  EXPECT_EQ(bench_.sink.parked, 0);
}

TEST_F(WaitGateTest, AWaitForARoundOfARendezvousEndsLikewise) {
  protocol::RequestSlot slot = group_slot(RequestKind::RendezvousJoin, kBob);
  slot.shard = LockBench::shard_of_name("jobs/r").value;
  bench_.connection = kBob;
  const auto joins = bench_.send(slot,
                                 protocol::encode_rendezvous_join({.members_min = 2,
                                                                   .members_max = 4,
                                                                   .last_call_ms = 1000,
                                                                   .name = "jobs/r",
                                                                   .payload = ""}));
  bench_.decide();
  settle();
  EXPECT_FALSE(answered(joins));
  roles_.revoke("bob");
  settle();
  expect_refused(joins, "group.join");
  EXPECT_EQ(bench_.sink.parked, 0);
}

}  // namespace
}  // namespace gcoord::server
