// Three lock services that end sessions together, and what drives them.
#pragma once

#include "locks/commands/ends.h"
#include "protocol/session_messages.h"
#include "server/sessions/expiry_message.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

inline void keep_alive(LockBench& bench, std::uint64_t session) {
  const std::vector<SessionId> sessions = {SessionId{session}};
  bench.sink.take(bench.send(bench.slot(protocol::RequestKind::KeepAlive),
                             protocol::encode_keep_alive(sessions)));
}

// Three lock services that pass each other's messages; node 1 leads, all apply the same log.
class ThreeNodesTest : public testing::Test {
 protected:
  ThreeNodesTest() {
    leader_.lead_all();
    for (LockBench* bench : {&second_, &third_}) {
      bench->engine.other_leader = NodeId{1};
    }
  }

  void pass_ms(std::uint64_t ms) {
    for (LockBench* bench : all_) {
      bench->pass_ms(ms);
    }
    deliver();
  }

  void deliver() {
    for (int round = 0; round < 2; ++round) {
      for (std::size_t from = 0; from < 3; ++from) {
        auto messages = std::exchange(all_[from]->engine.messages, {});
        const auto said = std::exchange(all_[from]->engine.features_said, {});
        if (!older_.contains(static_cast<int>(from) + 1)) {
          messages.insert(messages.end(), said.begin(), said.end());
        }
        for (const auto& [to, bytes] : messages) {
          if (!cut_.contains(static_cast<int>(to.value)) &&
              !cut_.contains(static_cast<int>(from) + 1)) {
            all_[to.value - 1]->service->on_peer_message(
                NodeId{static_cast<std::uint32_t>(from + 1)}, bytes);
          }
        }
      }
    }
  }

  // The commands that the leader has proposed and that are not decided.
  std::vector<locks::LockCommand> proposed() const {
    std::vector<locks::LockCommand> commands;
    for (const auto& proposal : leader_.engine.proposals) {
      const auto command = locks::decode(record_body(proposal.command));
      EXPECT_TRUE(command.ok());
      commands.push_back(command.value());
    }
    return commands;
  }

  // Sessions that those end.
  std::size_t ends_proposed() const {
    std::size_t count = 0;
    for (const locks::LockCommand& command : proposed()) {
      count +=
          command.kind == locks::LockCommandKind::ExpireSessions ? locks::ends_count(command) : 1;
    }
    return count;
  }

  // Passes until something is proposed.
  void await_proposals() {
    for (int ticks = 0; leader_.engine.proposals.empty() && ticks < 200; ++ticks) {
      pass_ms(10);
    }
    ASSERT_FALSE(leader_.engine.proposals.empty());
  }

  void take_sessions(std::uint64_t count) {
    for (std::uint64_t session = 1; session <= count; ++session) {
      leader_.acquire(session, 1, "job/" + std::to_string(session), 0, 500);
    }
    decide();
  }

  void expect_equal_states() const {
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      const auto state = leader_.service->locks().serialize(ShardId{shard});
      EXPECT_EQ(state, second_.service->locks().serialize(ShardId{shard}));
      EXPECT_EQ(state, third_.service->locks().serialize(ShardId{shard}));
    }
  }

  // What the leader proposed is decided on all three.
  std::size_t decide() {
    const std::size_t count = leader_.engine.proposals.size();
    for (LockBench* bench : {&second_, &third_}) {
      for (const auto& proposal : leader_.engine.proposals) {
        bench->engine.proposals.push_back({proposal.shard, proposal.command, 0});
      }
      bench->decide();
    }
    leader_.decide();
    return count;
  }

  const std::vector<NodeId> nodes_{NodeId{1}, NodeId{2}, NodeId{3}};
  LockBench leader_{nodes_, NodeId{1}};
  LockBench second_{nodes_, NodeId{2}};
  LockBench third_{nodes_, NodeId{3}};
  std::vector<LockBench*> all_{&leader_, &second_, &third_};
  std::set<int> cut_;
  // Of a release that says nothing of its features: all, unless a test says otherwise.
  std::set<int> older_{1, 2, 3};
};

}  // namespace gcoord::server
