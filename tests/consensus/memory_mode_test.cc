// Rows whose storage is their owner's memory: StepInput::stored_at_once.
#include "consensus/device/row_copy.h"
#include "consensus/step/recover.h"
#include "consensus/step/step.h"

#include <gtest/gtest.h>

namespace gcoord::consensus {
namespace {

// One row of node 1 with as many voters, stepped without any acknowledgement of storage.
struct Sample {
  explicit Sample(std::uint32_t voters) {
    RecoveredShard recovered;
    for (std::uint32_t slot = 0; slot < voters; ++slot) {
      recovered.configuration.node[slot] = NodeId{slot + 1};
      recovered.configuration.weight[slot] = 1;
      recovered.configuration.voters =
          static_cast<SlotMask>(recovered.configuration.voters | slot_bit(slot));
    }
    recover(shard(), recovered, NodeId{1});
    for (std::uint32_t k = 0; k < 2; ++k) {
      peer[k].node = NodeId{k + 2};
      peer[k].incarnation = Incarnation{1};
      peer[k].session = 1;
      peer[k].credit = 1;
      peer[k].live = 1;
    }
  }

  ShardRef shard() { return ref_of(row, ShardId{0}, 3); }

  void step_at(std::uint64_t tick) {
    StepInput input;
    input.tick = Tick{tick};
    input.self = NodeId{1};
    input.stored_at_once = 1;
    input.peer = peer;
    input.peer_count = 2;
    for (PeerLiveness& one : peer) {
      one.heard = one.acked_send = one.peer_tick = Tick{tick};
    }
    step(shard(), in, out, input);
    in = Inbox{};
  }

  RowCopy row;
  PeerLiveness peer[2];
  Inbox in;
  Outbox out;
};

TEST(MemoryMode, AFollowerAcknowledgesEntriesInTheStepThatTakesThem) {
  Sample sample(3);
  Message& m = sample.in.message[0];
  m.kind = MessageKind::Append;
  m.from = NodeId{2};
  m.to = NodeId{1};
  m.term = Term{1};
  m.entry_term = 1;
  m.count = 2;
  sample.in.message_count = 1;
  sample.step_at(1000);
  ASSERT_EQ(sample.out.message_count, 1u);
  EXPECT_EQ(sample.out.message[0].kind, MessageKind::AppendReply);
  EXPECT_EQ(sample.out.message[0].index, LogIndex{2});
  EXPECT_EQ(sample.out.stored[0], LogIndex{1});
  EXPECT_EQ(sample.row.storage.request_pending, 0);
}

TEST(MemoryMode, AVoteLeavesInTheStepThatGivesIt) {
  Sample sample(3);
  Message& m = sample.in.message[0];
  m.kind = MessageKind::Vote;
  m.from = NodeId{3};
  m.to = NodeId{1};
  m.term = Term{1};
  sample.in.message_count = 1;
  sample.step_at(1000);
  ASSERT_EQ(sample.out.message_count, 1u);
  EXPECT_EQ(sample.out.message[0].kind, MessageKind::VoteReply);
  EXPECT_EQ(sample.out.message[0].flags, 0);
}

TEST(MemoryMode, AReplicaThatDecidesAloneAsksForTheStepThatCommits) {
  Sample sample(1);
  sample.in.campaign = 1;
  std::uint64_t tick = 1000;
  sample.step_at(tick);
  for (std::uint32_t k = 0; k < 8 && sample.out.again != 0; ++k) {
    sample.step_at(++tick);
  }
  EXPECT_EQ(sample.row.hot.role, Role::Leader);
  EXPECT_EQ(sample.row.log.commit, LogIndex{1});
  sample.in.proposal_count = 3;
  sample.step_at(++tick);
  ASSERT_NE(sample.out.again, 0);
  sample.step_at(++tick);
  EXPECT_EQ(sample.row.log.commit, LogIndex{4});
}

}  // namespace
}  // namespace gcoord::consensus
