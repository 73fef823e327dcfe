// Deadlocks among the sessions of several nodes (SERVICES.md L18): lock services over fake engines
// whose logs and messages move when the test says so.
#include "common/random.h"
#include "locks/lock_break_wait.h"
#include "server/deadlock_watch.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using rpc::ErrorCode;
using rpc::RequestKind;

std::uint32_t number(ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

// Nodes 1 to n; shard s is led by node s % n + 1, and every node applies every shard's log.
class Cluster {
 public:
  explicit Cluster(std::uint32_t nodes) {
    std::vector<NodeId> ids;
    for (std::uint32_t node = 1; node <= nodes; ++node) {
      ids.emplace_back(node);
    }
    for (const NodeId id : ids) {
      benches_.push_back(std::make_unique<LockBench>(ids, id));
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

  Asked ask(std::uint64_t session, const rpc::LockHold& hold, bool blocks = true) {
    const std::uint64_t sequence = ++sequences_[session];
    rpc::LockAcquire acquire;
    acquire.caller = {SessionId{session}, RequestSequence{sequence}, RequestSequence{1}};
    acquire.wait_ms = rpc::kForeverMs;
    acquire.ttl_ms = 60'000;
    const bool plain = hold.flags == 0;
    rpc::RequestSlot slot = plain ? rpc::to_slot(acquire) : rpc::to_hold_slot(acquire);
    slot.shard = LockBench::shard_of_name(hold.name).value;
    if (blocks) {
      slot.set(rpc::RequestFlag::Blocks);
    }
    LockBench& leader = leader_of(hold.name);
    const auto payload = rpc::encode_hold(hold);
    const std::uint64_t id = plain ? leader.send(slot, hold.name) : leader.send(slot, payload);
    replicate();
    return {std::string(hold.name), session, sequence, id};
  }

  Asked ask(std::uint64_t session, std::string_view name, bool blocks = true) {
    return ask(session, rpc::LockHold{.name = name}, blocks);
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
    return answered(asked) && last_.slot.detail == number(ErrorCode::Deadlock);
  }

  std::string text() const { return std::string(rpc::text_of(last_.payload)); }

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

  // Two intervals: one until everybody reports, one until the answers are in.
  void look() {
    for (int k = 0; k < 3; ++k) {
      pass_ms(1000);
      settle();
    }
  }

  std::string report(std::uint32_t node) {
    LockBench& bench = *benches_[node - 1];
    const auto id = bench.send(bench.slot(RequestKind::LockDeadlocks), "");
    return std::string(rpc::text_of(bench.sink.take(id).payload));
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
std::string name_in(std::uint32_t shard, std::uint32_t k = 0) {
  for (std::uint32_t i = 0;; ++i) {
    const std::string name = "lock" + std::to_string(i);
    if (LockBench::shard_of_name(name).value == shard && k-- == 0) {
      return name;
    }
  }
}

class DeadlockTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  DeadlockTest() : cluster_(GetParam()) {}

  Cluster cluster_;
  const std::string a_ = name_in(1);
  const std::string b_ = name_in(2);
  const std::string c_ = name_in(3);
};

TEST_P(DeadlockTest, L18TheYoungestOfTwoIsToldTheCycle) {
  const auto a = cluster_.ask(5, a_);
  const auto b = cluster_.ask(6, b_);
  const auto older = cluster_.ask(5, b_);
  cluster_.pass_ms(700);
  const auto younger = cluster_.ask(6, a_);
  ASSERT_TRUE(cluster_.granted(a));
  ASSERT_TRUE(cluster_.granted(b));
  cluster_.look();
  ASSERT_TRUE(cluster_.deadlocked(younger));
  for (const std::string& part :
       {std::string("session 5 waits for \"" + b_ + "\""),
        std::string("session 6 waits for \"" + a_ + "\" (shard 1), which session 5 holds")}) {
    EXPECT_NE(cluster_.text().find(part), std::string::npos) << cluster_.text();
  }
  EXPECT_FALSE(cluster_.answered(older));
  const auto report = nlohmann::json::parse(cluster_.report(1));
  ASSERT_EQ(report["deadlocks"].size(), 1u);
  EXPECT_EQ(report["deadlocks"][0]["victim"], "6");
  EXPECT_EQ(report["deadlocks"][0]["cycle"].size(), 2u);
  cluster_.release(b);
  EXPECT_TRUE(cluster_.granted(older));
}

TEST_P(DeadlockTest, L18ACycleOverManyShardsLosesOneWaitOnly) {
  constexpr std::uint64_t kLength = 40;
  std::vector<std::string> names;
  std::vector<Cluster::Asked> waits;
  for (std::uint32_t k = 0; k < kLength; ++k) {
    names.push_back(name_in(k % 4, k / 4));
    ASSERT_TRUE(cluster_.granted(cluster_.ask(100 + k, names[k])));
  }
  for (std::uint32_t k = 0; k < kLength; ++k) {
    cluster_.pass_ms(10);
    waits.push_back(cluster_.ask(100 + k, names[(k + 1) % kLength]));
  }
  cluster_.look();
  for (std::uint32_t k = 0; k + 1 < kLength; ++k) {
    EXPECT_FALSE(cluster_.answered(waits[k])) << k;
  }
  EXPECT_TRUE(cluster_.deadlocked(waits.back()));
}

TEST_P(DeadlockTest, L18AWaitThatDoesNotBlockItsSessionIsNoPartOfACycle) {
  cluster_.ask(5, a_);
  cluster_.ask(6, b_);
  const auto one = cluster_.ask(5, b_, false);
  const auto two = cluster_.ask(6, a_);
  cluster_.look();
  EXPECT_FALSE(cluster_.answered(one));
  EXPECT_FALSE(cluster_.answered(two));
}

TEST_P(DeadlockTest, L18AWriterWaitsForEveryReader) {
  const rpc::LockHold read{.flags = 2, .permits = 1, .name = a_};
  cluster_.ask(5, read);
  cluster_.ask(6, read);
  cluster_.ask(7, b_);
  cluster_.ask(5, b_);
  cluster_.pass_ms(700);
  const auto writer = cluster_.ask(7, a_);
  cluster_.look();
  EXPECT_TRUE(cluster_.deadlocked(writer));  // Though reader 6 is free to go on.
}

TEST_P(DeadlockTest, L18AReaderBehindAWriterWaitsForTheReadersToo) {
  const rpc::LockHold read{.flags = 2, .permits = 1, .name = a_};
  cluster_.ask(5, read);
  cluster_.ask(7, b_);
  cluster_.ask(8, a_);  // The writer; holds nothing.
  cluster_.ask(5, b_);
  cluster_.pass_ms(700);
  const auto behind = cluster_.ask(7, read);
  cluster_.look();
  EXPECT_TRUE(cluster_.deadlocked(behind));
}

TEST_P(DeadlockTest, L18APermitIsWaitedForInVainOnlyWhenAllHoldersAreStuck) {
  const rpc::LockHold permit{.flags = 2, .permits = 1, .limit = 2, .name = a_};
  const auto first = cluster_.ask(5, permit);
  const auto second = cluster_.ask(6, permit);
  cluster_.ask(7, b_);
  cluster_.ask(5, b_);
  cluster_.pass_ms(100);
  const auto waits = cluster_.ask(7, permit);
  cluster_.look();
  EXPECT_FALSE(cluster_.answered(waits));  // Session 6 may still give its permit back.
  cluster_.pass_ms(700);
  cluster_.ask(6, b_);
  cluster_.look();
  EXPECT_TRUE(cluster_.deadlocked(waits));
  ASSERT_TRUE(cluster_.granted(first));
  ASSERT_TRUE(cluster_.granted(second));
}

// At every step of the way between the report and the end of the wait, an edge may go.
TEST_P(DeadlockTest, L18NobodyIsToldOfACircleThatOpensBeforeItIsConfirmed) {
  std::uint32_t told = 0;
  std::uint32_t untold = 0;
  std::uint64_t unconfirmed = 0;
  for (std::uint32_t moves = 0; moves < 24; ++moves) {
    Cluster cluster(GetParam());
    const auto a = cluster.ask(5, a_);
    const auto b = cluster.ask(6, b_);
    const auto one = cluster.ask(5, b_);
    cluster.pass_ms(100);
    const auto two = cluster.ask(6, a_);
    for (std::uint32_t k = 0; k < moves; ++k) {
      if (!cluster.move_one()) {
        cluster.pass_ms(500);
      }
    }
    EXPECT_FALSE(cluster.answered(one) || cluster.answered(two));  // Nothing was decided yet.
    cluster.release(b);                                            // What 5 waits for.
    cluster.settle();
    cluster.look();
    const bool ended = cluster.deadlocked(two);
    (ended ? told : untold) += 1;
    for (std::uint32_t node = 1; node <= GetParam(); ++node) {
      unconfirmed += cluster.counted(node, "unconfirmed");
    }
    EXPECT_TRUE(cluster.granted(one));
    if (!ended) {
      cluster.release(a);
      EXPECT_TRUE(cluster.granted(two));
    }
  }
  EXPECT_GT(untold, 0u);
  EXPECT_GT(told, 0u);         // Confirmed before: it was one.
  EXPECT_GT(unconfirmed, 0u);  // Found, and not there any more when asked about.
}

TEST_P(DeadlockTest, L18AMessageThatDoesNotDecodeIsDroppedAndCounted) {
  for (std::uint8_t kind = 96; kind <= 99; ++kind) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      std::vector<std::byte> message{std::byte{kind}};
      for (std::uint64_t k = 0; k < random64(seed, kind, 0) % 200; ++k) {
        message.push_back(static_cast<std::byte>(random64(seed, kind, 1 + k)));
      }
      cluster_.node(1).service->on_peer_message(NodeId{1}, message);
    }
  }
  const auto a = cluster_.ask(5, a_);
  EXPECT_TRUE(cluster_.granted(a));
  const Counter& bad =
      cluster_.node(1).metrics.counter({"gcoord_server_deadlock_messages_bad_total", "", "", ""});
  EXPECT_GT(bad.value(), 400u);
}

// Random sessions and locks: whatever is left to itself ends, since every circle loses a wait.
TEST_P(DeadlockTest, L18WhateverSessionsWantInWhateverOrderTheyAllGetDone) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Cluster cluster(GetParam());

    struct Worker {
      std::vector<Cluster::Asked> held;
      std::vector<Cluster::Asked> wanted;
      std::uint32_t wants = 4;
      bool done = false;
    };

    std::vector<Worker> workers(8);
    std::uint32_t broken = 0;
    for (std::uint32_t step = 0; step < 400; ++step) {
      bool all_done = true;
      for (std::uint32_t k = 0; k < workers.size(); ++k) {
        Worker& worker = workers[k];
        const std::uint64_t session = 100 * (seed + 1) + k;
        if (!worker.wanted.empty() && cluster.answered(worker.wanted[0])) {
          const auto wanted = worker.wanted[0];
          worker.wanted.clear();
          if (cluster.granted(wanted)) {
            worker.held.push_back(wanted);
          } else {
            EXPECT_TRUE(cluster.deadlocked(wanted));
            ++broken;
            worker.wants = 0;  // Gives up what it has.
          }
        }
        if (worker.wanted.empty() && worker.held.size() < worker.wants) {
          const std::uint64_t place = random64(seed, k, worker.held.size()) % 6;
          const std::string name = name_in(place % 4, static_cast<std::uint32_t>(place / 4));
          worker.wanted.push_back(cluster.ask(session, name));
        } else if (worker.wanted.empty() && !worker.held.empty()) {
          std::set<std::string> released;
          for (const auto& held : worker.held) {
            if (released.insert(held.name).second) {
              cluster.release(held);
            }
          }
          worker.held.clear();
          worker.wants = 0;
        }
        worker.done = worker.wants == 0 && worker.wanted.empty();
        all_done = all_done && worker.done;
      }
      if (all_done) {
        break;
      }
      cluster.pass_ms(200);
      cluster.settle();
    }
    for (const Worker& worker : workers) {
      EXPECT_TRUE(worker.done) << "seed " << seed << ", " << broken << " broken";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Nodes, DeadlockTest, testing::Values(1u, 3u));

}  // namespace
}  // namespace gcoord::server
