// Three nodes whose locks move between shards, for tests of lock_moves.h.
#pragma once

#include "protocol/error_codes.h"
#include "protocol/request.h"
#include "tests/server/fake_engine.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::server {

inline constexpr const char* kName = "jobs/moved";

inline std::uint32_t number(protocol::ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

// Three lock services with one log for each of four shards. A turn delivers what was sent, and
// decides what was proposed, in the order of the nodes.
class ThreeNodes {
 public:
  ThreeNodes() {
    for (std::uint32_t node = 1; node <= 3; ++node) {
      nodes_.push_back(
          std::make_unique<LockBench>(std::vector{NodeId{1}, NodeId{2}, NodeId{3}}, NodeId{node}));
    }
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      lead(ShardId{shard}, NodeId{1});
    }
    turn();  // Nodes hear of each other's features.
  }

  LockBench& node(std::uint32_t id) { return *nodes_[id - 1]; }

  LockBench& leader(ShardId shard) { return node(leaders_[shard.value].value); }

  // The node leads the shard from now on; what the one before proposed is lost.
  void lead(ShardId shard, NodeId id) {
    for (std::uint32_t each = 1; each <= 3; ++each) {
      FakeEngine& engine = node(each).engine;
      engine.leaders[shard.value] = id;
      if (NodeId{each} != id && engine.led.contains(shard.value)) {
        refuse_proposals(node(each), shard, id);
        engine.follow(*node(each).service, shard, id);
      }
    }
    leaders_[shard.value] = id;
    if (!node(id.value).engine.led.contains(shard.value)) {
      node(id.value).engine.lead(*node(id.value).service, shard);
    }
  }

  void turn(bool deliver = true) {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      node(id).pass_ms(10);
    }
    tell_features();
    for (std::uint32_t id = 1; id <= 3; ++id) {
      const auto messages = std::exchange(node(id).engine.messages, {});
      for (const auto& [to, bytes] : messages) {
        if (deliver && LockMoves::is_ours(bytes)) {
          node(to.value).service->on_peer_message(NodeId{id}, bytes);
        }
      }
    }
    for (std::uint32_t id = 1; id <= 3; ++id) {
      decide(id);
    }
    expect_one_place();
  }

  void turns(int count) {
    for (int i = 0; i < count; ++i) {
      turn();
    }
  }

  // Whoever takes the node's place has the state of its shards, and nothing else.
  void restart(std::uint32_t id) {
    auto fresh =
        std::make_unique<LockBench>(std::vector{NodeId{1}, NodeId{2}, NodeId{3}}, NodeId{id});
    fresh->pass_ms(node(id).now_us / 1000 - 1000);
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      std::vector<std::byte> state;
      node(id).service->serialize(ShardId{shard}, state);
      EXPECT_TRUE(fresh->service->install(ShardId{shard}, state).ok());
      fresh->engine.leaders[shard] = leaders_[shard];
    }
    nodes_[id - 1] = std::move(fresh);
  }

  // The next entry of the shard's log at every node, proposed by a leader of before.
  void apply_to_all(ShardId shard, const locks::LockCommand& command) {
    std::vector<std::byte> record;
    put_record_header(record, {.kind = RecordKind::LockCommand});
    locks::encode(command, record);
    AppliedEntry entry;
    entry.shard = shard;
    entry.index = LogIndex{++index_[shard.value]};
    entry.term = Term{1};
    entry.payload = record;
    for (std::uint32_t id = 1; id <= 3; ++id) {
      entry.leader = leaders_[shard.value] == NodeId{id};
      node(id).service->apply(entry);
    }
  }

  // Decides what was asked and returns the answer.
  KeptReply answered(ShardId shard, std::uint64_t id) {
    turn();
    return leader(shard).sink.take(id);
  }

  static ShardId home() { return LockBench::shard_of_name(kName); }

  static ShardId other() { return ShardId{(home().value + 1) % 4}; }

  bool holds(ShardId shard) {
    return leader(shard).service->locks().get(shard, hash_name(kName)).has_value();
  }

  // The node is of a release that says nothing of its features, or is not.
  void set_old(std::uint32_t id, bool old) { old_ = old ? id : 0; }

 private:
  void tell_features() {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      for (const auto& [to, bytes] : std::exchange(node(id).engine.features_said, {})) {
        if (id != old_) {
          node(to.value).service->on_peer_message(NodeId{id}, bytes);
        }
      }
    }
  }

  void refuse_proposals(LockBench& bench, ShardId shard, NodeId hint) {
    std::deque<FakeEngine::Proposal> kept;
    for (FakeEngine::Proposal& proposal : std::exchange(bench.engine.proposals, {})) {
      if (proposal.shard != shard) {
        kept.push_back(std::move(proposal));
      } else {
        const Status lost{StatusCode::FailedPrecondition, "not the leader"};
        bench.service->on_proposal_failed(proposal.cookie, lost, hint);
      }
    }
    bench.engine.proposals = std::move(kept);
  }

  void decide(std::uint32_t proposer) {
    for (const auto& proposal : std::exchange(node(proposer).engine.proposals, {})) {
      const LogIndex index{++index_[proposal.shard.value]};
      for (std::uint32_t id = 1; id <= 3; ++id) {
        AppliedEntry entry;
        entry.shard = proposal.shard;
        entry.index = index;
        entry.term = Term{1};
        entry.payload = proposal.command;
        entry.cookie = id == proposer ? proposal.cookie : 0;
        entry.leader = id == proposer;
        node(id).service->apply(entry);
      }
    }
  }

  // Nobody may be granted the lock in two shards, at no turn.
  void expect_one_place() { EXPECT_FALSE(holds(home()) && holds(other())); }

  std::vector<std::unique_ptr<LockBench>> nodes_;
  std::array<NodeId, 4> leaders_{};
  std::uint32_t old_ = 0;
  std::array<std::uint64_t, 4> index_{};
};

}  // namespace gcoord::server
