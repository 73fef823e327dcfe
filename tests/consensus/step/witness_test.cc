// A replica of a witness: it votes, acknowledges and never campaigns, and nobody hands it a shard.
#include "consensus/device/row_copy.h"
#include "consensus/step/recover.h"
#include "consensus/step/step.h"
#include "tests/consensus/voters.h"

#include <gtest/gtest.h>

namespace gcoord::consensus {
namespace {

// A row of node `self` among three voters in term 2, of which node 3 is the witness. Both peers
// live, and storage is its owner's memory.
struct Sample {
  explicit Sample(NodeId node) : self(node) {
    recover(shard(), {.term = Term{2}, .configuration = voters(3)}, self);
    std::size_t at = 0;
    for (std::uint32_t id = 1; id <= 3; ++id) {
      if (NodeId{id} != self) {
        peer[at] = {.node = NodeId{id}, .incarnation = Incarnation{1}, .session = 1, .credit = 8};
        peer[at].live = 1;
        peer[at++].witness = id == 3 ? 1 : 0;
      }
    }
  }

  ShardRef shard() { return ref_of(row, ShardId{0}, 3); }

  // A step at which both peers were just heard, unless they are silent.
  void step_at(std::uint64_t tick) {
    StepInput input;
    input.tick = Tick{tick};
    input.self = self;
    input.stored_at_once = 1;
    input.peer = peer;
    input.peer_count = 2;
    input.witness = self == NodeId{3} ? 1 : 0;
    for (PeerLiveness& one : peer) {
      one.heard = one.acked_send = one.peer_tick = one.live != 0 ? Tick{tick} : Tick{1};
    }
    step(shard(), in, out, input);
    in = Inbox{};
  }

  Message& message(MessageKind kind, NodeId from, Term term) {
    Message& m = in.message[in.message_count++];
    m.kind = kind;
    m.from = from;
    m.to = self;
    m.term = term;
    return m;
  }

  const Message* sent(MessageKind kind) const {
    for (std::uint32_t k = 0; k < out.message_count; ++k) {
      if (out.message[k].kind == kind) {
        return &out.message[k];
      }
    }
    return nullptr;
  }

  // Elected by node 2's vote.
  void elect() {
    in.campaign = 1;
    step_at(1000);
    message(MessageKind::PreVoteReply, NodeId{2}, Term{3});
    step_at(1001);
    message(MessageKind::VoteReply, NodeId{2}, Term{3});
    step_at(1002);
    ASSERT_EQ(row.hot.role, Role::Leader);
  }

  NodeId self;
  RowCopy row;
  PeerLiveness peer[2];
  Inbox in;
  Outbox out;
};

TEST(Witness, NeverCampaignsHoweverLongNobodyLeads) {
  Sample witness(NodeId{3});
  for (std::uint64_t tick = 1000; tick < 3000; ++tick) {
    witness.in.campaign = tick % 100 == 0 ? 1 : 0;
    witness.in.woken = tick % 70 == 0 ? 1 : 0;
    witness.step_at(tick);
    ASSERT_EQ(witness.row.hot.role, Role::Follower);
    ASSERT_EQ(witness.out.message_count, 0u);
    ASSERT_EQ(witness.row.hot.deadline, kTickNever) << "it has nothing to do by itself";
  }
}

// The same row of a voter that may lead does campaign: the sample is no trick.
TEST(Witness, OthersCampaignWhereItDoesNot) {
  Sample voter(NodeId{2});
  voter.step_at(1000);
  voter.step_at(voter.row.hot.deadline.value);
  EXPECT_EQ(voter.row.hot.role, Role::PreCandidate);
}

TEST(Witness, VotesForWhoHasTheLogAndForNobodyElse) {
  Sample witness(NodeId{3});
  witness.message(MessageKind::PreVote, NodeId{1}, Term{3}).index = LogIndex{0};
  witness.step_at(1000);
  const Message* grant = witness.sent(MessageKind::PreVoteReply);
  ASSERT_NE(grant, nullptr);
  EXPECT_EQ(grant->flags & kFlagReject, 0);
  witness.message(MessageKind::Vote, NodeId{1}, Term{3}).index = LogIndex{0};
  witness.step_at(1001);
  grant = witness.sent(MessageKind::VoteReply);
  ASSERT_NE(grant, nullptr);
  EXPECT_EQ(grant->flags & kFlagReject, 0);
  EXPECT_EQ(witness.row.hot.vote, NodeId{1});

  // The leader has it store two entries, and is gone. Node 2, who lacks them, does not get its
  // vote.
  Message& entries = witness.message(MessageKind::Append, NodeId{1}, Term{3});
  entries.entry_term = 3;
  entries.count = 2;
  witness.step_at(1002);
  ASSERT_NE(witness.sent(MessageKind::AppendReply), nullptr);
  EXPECT_EQ(witness.sent(MessageKind::AppendReply)->index, LogIndex{2});
  witness.peer[0].live = 0;
  witness.message(MessageKind::Vote, NodeId{2}, Term{4}).index = LogIndex{0};
  witness.step_at(1400);
  const Message* refusal = witness.sent(MessageKind::VoteReply);
  ASSERT_NE(refusal, nullptr);
  EXPECT_NE(refusal->flags & kFlagReject, 0);
}

TEST(Witness, IsHandedNothingAndTakesNoOrder) {
  Sample leader(NodeId{1});
  leader.elect();
  leader.in.transfer_to = NodeId{3};
  leader.step_at(1003);
  EXPECT_EQ(leader.row.election.transfer_target, kSlotNone);
  leader.in.transfer_to = NodeId{2};
  leader.step_at(1004);
  EXPECT_NE(leader.row.election.transfer_target, kSlotNone);

  // A leader that does not know what it is gives the order all the same.
  Sample witness(NodeId{3});
  witness.message(MessageKind::Append, NodeId{1}, Term{3});
  witness.step_at(1000);
  ASSERT_EQ(witness.row.hot.leader, NodeId{1});
  witness.message(MessageKind::TimeoutNow, NodeId{1}, Term{3}).context = 2000;
  witness.step_at(1001);
  EXPECT_EQ(witness.row.hot.role, Role::Follower);
  EXPECT_EQ(witness.row.hot.term, Term{3});
}

// After a restart of all, the first in the order of shards goes at once and the others leave it an
// election timeout: nobody waits so for a witness.
TEST(Witness, IsNotWaitedForInTheOrderOfCampaigns) {
  const auto waits = [](std::uint8_t witness) {
    Sample voter(NodeId{1});
    voter.peer[1].witness = witness;
    StepInput input;
    input.tick = Tick{1000};
    input.vote_after = Tick{1000};
    input.self = NodeId{1};
    input.peer = voter.peer;
    input.peer_count = 2;
    OutboxHead unused;
    const StepArrays none;
    voter.peer[0].live = 0;
    // Shard 2 begins with slot 2, which is node 3's.
    const StepRow r{ref_of(voter.row, ShardId{2}, 3), input, unused, none};
    return cold_campaign(r) - input.tick;
  };
  EXPECT_GT(waits(0), 100u);
  EXPECT_LT(waits(1), 20u);
}

}  // namespace
}  // namespace gcoord::consensus
