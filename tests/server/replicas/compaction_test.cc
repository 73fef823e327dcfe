// Entries that a leader keeps for peers (server/replicas/compaction.h).
#include "server/replicas/compaction.h"

#include "consensus/step/recover.h"
#include "consensus/step/stepper.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

// A leader with 100 entries, all of which node 2 has; node 3 is down and has `match`.
LogIndex target_beside(LogIndex match) {
  const auto stepper = consensus::make_cpu_stepper(1, 3);
  consensus::RecoveredShard recovered{.term = Term{1}, .commit = LogIndex{100}};
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    recovered.configuration.node[slot] = NodeId{slot + 1};
    recovered.configuration.weight[slot] = 1;
  }
  recovered.configuration.voters = 0b111;
  const consensus::ShardRef row(stepper->columns(), 0);
  recover(row, recovered, NodeId{1});
  for (int k = 0; k < 100; ++k) {
    recover_entry(row, Term{1}, consensus::EntryKind::Command, LogIndex{100});
  }
  row.hot().role = consensus::Role::Leader;
  row.progress(1).match = LogIndex{100};
  row.progress(2).match = match;
  const consensus::PeerLiveness peers[] = {{.node = NodeId{2}, .live = 1},
                                           {.node = NodeId{3}, .live = 0}};
  return compaction_target(row, peers, 0);
}

TEST(Compaction, ALeaderKeepsAFewEntriesForAPeerThatIsDown) {
  EXPECT_EQ(target_beside(LogIndex{99}), LogIndex{99});
  EXPECT_EQ(target_beside(LogIndex{100 - kAbsentEntriesMax}), LogIndex{100 - kAbsentEntriesMax});
}

TEST(Compaction, OneThatLacksMoreGetsASnapshot) {
  EXPECT_EQ(target_beside(LogIndex{99 - kAbsentEntriesMax}), LogIndex{100});
}

}  // namespace
}  // namespace gcoord::server
