// A slot that changes hands while somebody counts by slots.
#include "consensus/device/row_copy.h"
#include "consensus/step/recover.h"
#include "consensus/step/step.h"
#include "tests/consensus/voters.h"

#include <gtest/gtest.h>

namespace gcoord::consensus {
namespace {

// A row of node 1 among five voters, in term 2.
struct Sample {
  Sample() {
    recover(shard(), {.term = Term{2}, .vote = NodeId{1}, .configuration = voters(5)}, NodeId{1});
    row.log.last = row.log.commit = LogIndex{3};
    row.log.run_count = 1;
    row.runs.start_offset[0] = 1;
    row.runs.term_offset[0] = 2;
    row.storage.durable = row.storage.pending_last = LogIndex{3};
    row.storage.persist_from = LogIndex{4};
    row.storage.apply_pending = 1;
    row.log.configuration_pending = LogIndex{3};
    for (std::uint32_t k = 0; k < 5; ++k) {
      peer[k] = {.node = NodeId{k + 2}, .incarnation = Incarnation{1}, .session = 1, .credit = 8};
      peer[k].live = 1;
      peer[k].heard = peer[k].acked_send = peer[k].peer_tick = Tick{1000};
    }
  }

  ShardRef shard() { return ref_of(row, ShardId{0}, kReplicaSlots); }

  // The configuration at `index` was applied.
  void apply(std::uint64_t index, const Configuration& configuration) {
    Inbox in;
    in.applied = in.configuration_index = LogIndex{index};
    in.configuration_input = ConfigurationInput::Applied;
    in.configuration = configuration;
    StepInput input;
    input.tick = Tick{1000};
    input.self = NodeId{1};
    input.peer = peer;
    input.peer_count = 5;
    step(shard(), in, out, input);
  }

  RowCopy row;
  PeerLiveness peer[5];
  Outbox out;
};

Configuration with_slot_4(NodeId node) {
  Configuration configuration = voters(5);
  configuration.node[4] = node;
  if (node.value == 0) {
    configuration.voters = 0b1111;
    configuration.weight[4] = 0;
  }
  return configuration;
}

// It heard node 5 and then learns, of a vote's commit index, that node 5 left and node 6 came into
// its slot. Node 6 has not voted, and may have voted for somebody else.
TEST(MovedSlots, TheVoteOfARemovedNodeIsNotThatOfTheOneInItsSlot) {
  Sample sample;
  sample.row.hot.role = Role::Candidate;
  sample.row.hot.deadline = Tick{2000};
  sample.row.election.granted = 0b10001;
  sample.apply(1, with_slot_4(NodeId{}));
  ASSERT_EQ(sample.row.hot.role, Role::Candidate);
  sample.apply(2, with_slot_4(NodeId{6}));
  ASSERT_EQ(sample.row.hot.role, Role::Candidate);
  EXPECT_EQ(sample.row.election.granted, 0b00001);
}

// The same for what confirms that a leader still leads.
TEST(MovedSlots, ARemovedNodeConfirmsNoReadForTheOneInItsSlot) {
  Sample sample;
  sample.row.hot.role = Role::Leader;
  sample.row.hot.leader = NodeId{1};
  sample.row.election.leader_since = Tick{999};
  sample.row.election.read_sequence = 1;
  sample.row.election.read_index = LogIndex{3};
  sample.row.election.confirmed = 0b10001;
  sample.apply(1, with_slot_4(NodeId{}));
  sample.apply(2, with_slot_4(NodeId{6}));
  ASSERT_EQ(sample.row.hot.role, Role::Leader);
  EXPECT_EQ(sample.row.election.confirmed, 0b00001);
  EXPECT_EQ(sample.out.read, ReadVerdict::None);
}

}  // namespace
}  // namespace gcoord::consensus
