// Lock services of several nodes over fake engines, whose logs and messages move when the test says
// so, and sessions that wait for each other there.
#pragma once

#include "tests/server/fake_engine.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

// Nodes 1 to n; shard s is led by node s % n + 1, and every node applies every shard's log.
class DeadlockCluster {
 public:
  explicit DeadlockCluster(std::uint32_t nodes,
                           CoordinatorMethod method = CoordinatorMethod::Raft) {
    std::vector<NodeId> ids;
    for (std::uint32_t node = 1; node <= nodes; ++node) {
      ids.emplace_back(node);
    }
    for (const NodeId id : ids) {
      benches_.push_back(std::make_unique<LockBench>(ids, id, 0, method));
    }
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      for (std::uint32_t node = 0; node < nodes; ++node) {
        FakeEngine& engine = benches_[node]->engine;
        engine.leaders[shard] = NodeId{shard % nodes + 1};
        if (shard % nodes == node) {
          engine.lead(*benches_[node]->service, ShardId{shard});
        }
      }
    }
  }

  LockBench& leader_of(std::string_view name) {
    return *benches_[LockBench::shard_of_name(name).value % benches_.size()];
  }

  struct Asked {
    std::string name;
    std::uint64_t session = 0;
    std::uint64_t sequence = 0;
    std::uint64_t id = 0;
  };

  Asked ask(std::uint64_t session, const protocol::LockHold& hold, bool blocks = true) {
    const std::uint64_t sequence = ++sequences_[session];
    protocol::LockAcquire acquire;
    acquire.caller = {SessionId{session}, RequestSequence{sequence}, RequestSequence{1}};
    acquire.wait_ms = protocol::kForeverMs;
    acquire.ttl_ms = 60'000;
    const bool plain = hold.flags == 0;
    protocol::RequestSlot slot =
        plain ? protocol::to_slot(acquire) : protocol::to_hold_slot(acquire);
    slot.shard = LockBench::shard_of_name(hold.name).value;
    if (blocks) {
      slot.set(protocol::RequestFlag::Blocks);
    }
    LockBench& leader = leader_of(hold.name);
    const auto payload = protocol::encode_hold(hold);
    const std::uint64_t id = plain ? leader.send(slot, hold.name) : leader.send(slot, payload);
    replicate();
    return {std::string(hold.name), session, sequence, id};
  }

  Asked ask(std::uint64_t session, std::string_view name, bool blocks = true) {
    return ask(session, protocol::LockHold{.name = name}, blocks);
  }

  // Whether it was answered; the reply is kept.
  bool answered(const Asked& asked) {
    auto& replies = leader_of(asked.name).sink.replies;
    const auto found = std::ranges::find_if(
        replies, [&](const KeptReply& reply) { return reply.slot.request_id == asked.id; });
    if (found != replies.end()) {
      last_ = *found;
    }
    return found != replies.end();
  }

  bool granted(const Asked& asked) { return answered(asked) && last_.slot.code == StatusCode::Ok; }

  bool deadlocked(const Asked& asked) {
    return answered(asked) &&
           last_.slot.detail == static_cast<std::uint32_t>(protocol::ErrorCode::Deadlock);
  }

  std::string text() const { return std::string(protocol::text_of(last_.payload)); }

  void release(const Asked& held) {
    ASSERT_TRUE(granted(held));
    const std::uint64_t sequence = ++sequences_[held.session];
    leader_of(held.name).release(held.session, sequence, held.name, last_.slot.token);
    replicate();
  }

  // Every log reaches every node.
  void replicate() {
    for (auto& from : benches_) {
      const std::deque<FakeEngine::Proposal> decided = from->engine.proposals;
      from->engine.decide(*from->service);
      for (auto& to : benches_) {
        if (to != from) {
          apply(*to, decided);
        }
      }
    }
  }

  void pass_ms(std::uint64_t ms) {
    for (auto& bench : benches_) {
      bench->pass_ms(ms);
    }
  }

  // Moves one message or confirms one node's reads; false when there is nothing to do.
  bool move_one() {
    for (std::size_t from = 0; from < benches_.size(); ++from) {
      auto& messages = benches_[from]->engine.messages;
      if (!messages.empty()) {
        const auto [to, bytes] = messages.front();
        messages.erase(messages.begin());
        benches_[to.value - 1]->service->on_peer_message(
            NodeId{static_cast<std::uint32_t>(from + 1)}, bytes);
        return true;
      }
    }
    for (auto& bench : benches_) {
      if (!bench->engine.reads.empty()) {
        bench->engine.confirm_reads(*bench->service);
        return true;
      }
    }
    return false;
  }

  void settle() {
    while (move_one()) {
    }
    replicate();
  }

  // Every node hears every other one; what they say of their features arrives, or does not, as if
  // the others ran a release of before. Long enough for an election.
  void meet(bool features_arrive) {
    for (auto& bench : benches_) {
      for (std::uint32_t other = 1; other <= benches_.size(); ++other) {
        if (benches_[other - 1] != bench) {
          NodePeerView peer;
          peer.link.id = NodeId{other};
          peer.link.incarnation = Incarnation{7};
          peer.live = true;
          bench->engine.node.peers.push_back(peer);
        }
      }
    }
    for (int k = 0; k < 60; ++k) {
      pass_ms(100);
      for (std::uint32_t from = 1; from <= benches_.size(); ++from) {
        std::vector<std::pair<NodeId, std::vector<std::byte>>> said;
        said.swap(benches_[from - 1]->engine.features_said);
        for (const auto& [to, bytes] : said) {
          if (features_arrive) {
            benches_[to.value - 1]->service->on_peer_message(NodeId{from}, bytes);
          }
        }
      }
      settle();
    }
  }

  // Two intervals: one until everybody reports, one until the answers are in.
  void look() {
    for (int k = 0; k < 3; ++k) {
      pass_ms(1000);
      settle();
    }
  }

  std::string report(std::uint32_t node) {
    LockBench& bench = *benches_[node - 1];
    const auto id = bench.send(bench.slot(protocol::RequestKind::LockDeadlocks), "");
    return std::string(protocol::text_of(bench.sink.take(id).payload));
  }

  std::uint64_t counted(std::uint32_t node, const std::string& what) {
    const std::string name = "gcoord_server_deadlock_" + what + "_total";
    return benches_[node - 1]->metrics.counter({name, "", "", ""}).value();
  }

  LockBench& node(std::uint32_t number) { return *benches_[number - 1]; }

 private:
  static void apply(LockBench& bench, const std::deque<FakeEngine::Proposal>& decided) {
    for (const FakeEngine::Proposal& proposal : decided) {
      AppliedEntry entry;
      entry.shard = proposal.shard;
      entry.index = LogIndex{++bench.engine.index[proposal.shard.value]};
      entry.term = bench.engine.term;
      entry.payload = proposal.command;
      bench.service->apply(entry);
    }
  }

  std::vector<std::unique_ptr<LockBench>> benches_;
  std::map<std::uint64_t, std::uint64_t> sequences_;
  KeptReply last_;
};

// The k-th name whose shard is `shard`.
inline std::string name_in(std::uint32_t shard, std::uint32_t k = 0) {
  for (std::uint32_t i = 0;; ++i) {
    const std::string name = "lock" + std::to_string(i);
    if (LockBench::shard_of_name(name).value == shard && k-- == 0) {
      return name;
    }
  }
}

}  // namespace gcoord::server
