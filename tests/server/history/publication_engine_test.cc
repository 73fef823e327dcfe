// Whole engines with their histories and publications: a replica whose history is not the others'
// is found, named, does not vote, is repaired, and signs again.
#include "ledger/base/error_details.h"
#include "ledger/history/memory_store.h"
#include "server/history/history.h"
#include "server/history/node_ledger.h"
#include "server/interfaces/passing_machine.h"
#include "tests/scratch_folder.h"
#include "tests/server/host_turn/engine_cluster.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kNodes = 3;
constexpr std::uint32_t kShards = 4;

// Turns a bit of one entry before anything else of the node sees it, as memory may.
class FlippingService final : public WholePassingMachine {
 public:
  using WholePassingMachine::WholePassingMachine;

  std::optional<std::pair<ShardId, LogIndex>> flips;

  void apply(const AppliedEntry& entry) override {
    if (!flips || *flips != std::pair(entry.shard, entry.index) || entry.payload.empty()) {
      return inner_.apply(entry);
    }
    std::vector<std::byte> payload(entry.payload.begin(), entry.payload.end());
    payload.back() ^= std::byte{1};
    AppliedEntry other = entry;
    other.payload = payload;
    inner_.apply(other);
  }
};

class PublicationEngineTest : public testing::Test {
 protected:
  // What stands around a node's engine, and the disk of its history.
  struct Ledgers {
    std::unique_ptr<NodeHistory> history;
    std::unique_ptr<FlippingService> flipping;
    std::unique_ptr<PublicationService> publication;
    std::unique_ptr<NodeLedger> node;
    std::optional<std::pair<ShardId, LogIndex>> flips;
    Status ended;
    int openings = 0;
  };

  PublicationEngineTest() : ledgers_(kNodes + 1), cluster_(kNodes, kShards) {
    cluster_.around = [this](std::uint32_t id, StateMachine& inner) -> StateMachine& {
      return surround(id, inner);
    };
    cluster_.tune = [this](ReplicaOptions& options) { tune(options); };
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      start(id);
    }
  }

  ~PublicationEngineTest() override {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      stop(id);
    }
  }

  void tune(ReplicaOptions& options) {
    const std::uint32_t id = options.node.value;
    Ledgers& ledgers = ledgers_[id];
    options.seed += 100 * ++salt_;
    NodeLedgerOptions ledger{.cluster = options.cluster,
                             .node = options.node,
                             .nodes = {NodeId{1}, NodeId{2}, NodeId{3}},
                             .shard_count = kShards,
                             .data_directory = directory_.path(std::to_string(id))};
    auto opened = NodeLedger::open(ledger, *cluster_.node(id).metrics);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    ledgers.node = std::move(opened).value();
    options.repaired_shards = ledgers.node->repaired_shards();
    options.on_directory = [&ledgers, id, this]() -> Status {
      GCOORD_TRY(
          auto store,
          ledger::HistoryStore::open(directory_.path("history-" + std::to_string(id)), kShards));
      GCOORD_TRY_STATUS(ledgers.history->open(std::move(store)));
      for (const ShardId shard : ledgers.node->repaired_shards()) {
        ledgers.history->worker().forget(shard);
      }
      return Status{};
    };
    options.before_checkpoint = [&ledgers]() -> Status {
      GCOORD_TRY_STATUS(ledgers.history->settle());
      return ledgers.node->settle();
    };
  }

  // Runs before tune(): the engine's arguments are evaluated in no order, so both may come first.
  StateMachine& surround(std::uint32_t id, StateMachine& inner) {
    Ledgers& ledgers = ledgers_[id];
    ledgers.history = std::make_unique<NodeHistory>(
        NodeHistoryOptions{.shard_count = kShards, .metrics = cluster_.node(id).metrics.get()},
        inner);
    ledgers.flipping = std::make_unique<FlippingService>(ledgers.history->service());
    ledgers.flipping->flips = ledgers.flips;
    ledgers.publication = std::make_unique<PublicationService>(*ledgers.flipping);
    return *ledgers.publication;
  }

  void start(std::uint32_t id) {
    Ledgers& ledgers = ledgers_[id];
    cluster_.start(id);
    ledgers.history->recovered();
    ++ledgers.openings;
    const auto history = ledgers.history->worker().history();
    const Status status = ledgers.node->start(
        cluster_.engine(id).view().incarnation,
        *ledgers.publication,
        {.tree_of = [history](ShardId shard) { return history->reader(shard); },
         .heads_of = [history](std::span<const ShardId> shards) { return history->heads(shards); },
         .heads_at =
             [history](std::span<const ledger::ShardHead> named) {
               return history->heads_at(named);
             }},
        [] {});
    ASSERT_TRUE(status.ok()) << status.to_string();
  }

  void stop(std::uint32_t id) {
    cluster_.stop(id);
    ledgers_[id].publication.reset();
    ledgers_[id].node.reset();
    ledgers_[id].history.reset();
  }

  // One pass of every node's loop; a node that ends to be repaired is opened again, as gcoordd
  // does.
  void pass() {
    cluster_.settle();
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      Ledgers& ledgers = ledgers_[id];
      HostReplicas& port = cluster_.engine(id);
      ASSERT_TRUE(ledgers.history->end_turn(true).ok());
      const Status status = ledgers.node->pass(port, 5);
      if (!status.ok()) {
        ASSERT_EQ(status.detail(), ledger::kHistoryRepair) << status.to_string();
        ASSERT_EQ(status.code(), StatusCode::Aborted);
        cluster_.engine(id).turn();
        ledgers.ended = status;
        ledgers.flips.reset();
        stop(id);
        start(id);
        EXPECT_EQ(cluster_.engine(id).view().forgotten_count,
                  ledgers.node->repaired_shards().size());
      } else if (++passes_ % 64 == 0) {
        ASSERT_TRUE(ledgers.node->sweep(port).ok());
      }
    }
    cluster_.advance_ms(10);
    std::this_thread::yield();
  }

  // Far beyond what any machine needs.
  bool run_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!done()) {
      if (HasFatalFailure() || std::chrono::steady_clock::now() > end) {
        return false;
      }
      pass();
    }
    return true;
  }

  void decide(std::uint32_t shard, const std::string& command) {
    ASSERT_TRUE(run_until([&] { return cluster_.leader_of(shard) != 0; }));
    const std::uint32_t leader = cluster_.leader_of(shard);
    const std::uint64_t cookie = cluster_.propose(leader, shard, "12345678" + command);
    ASSERT_TRUE(run_until([&] { return cluster_.decided(leader, cookie); }));
    newest_[shard] = cluster_.engine(leader).view(ShardId{shard}).commit.value;
  }

  // Whether every node shows a checkpoint that has all of the shard's entries so far.
  bool published(std::uint32_t shard) {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      const auto head = ledgers_[id].node->shard_checkpoint(ShardId{shard});
      if (!head.ok() || size_of(head.value()) < newest_[shard]) {
        return false;
      }
    }
    return true;
  }

  // The second line of a checkpoint.
  static std::uint64_t size_of(const std::string& note) {
    return std::stoull(note.substr(note.find('\n') + 1));
  }

  const NodeLedgerStatus status(std::uint32_t id) { return ledgers_[id].node->status(); }

  ScratchFolder directory_;
  std::vector<Ledgers> ledgers_;
  std::uint64_t newest_[kShards] = {};
  std::uint64_t salt_ = 0;
  std::uint64_t passes_ = 0;
  EngineCluster cluster_;
};

TEST_F(PublicationEngineTest, WhatIsDecidedIsPublishedAndOutlivesRestarts) {
  decide(1, "a");
  ASSERT_TRUE(run_until([this] { return published(1); }));
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    cluster_.engine(id).request_checkpoint();
    decide(2, "b" + std::to_string(id));
    stop(id);
    start(id);
  }
  decide(3, "c");
  ASSERT_TRUE(run_until([this] { return published(2) && published(3); }));
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    EXPECT_TRUE(status(id).alarms.empty());
    EXPECT_EQ(ledgers_[id].openings, 2);
  }
}

TEST_F(PublicationEngineTest, AReplicaThatAppliedAnotherEntryIsNamedRepairedAndSignsAgain) {
  for (int k = 0; k < 5; ++k) {
    decide(1, std::to_string(k));
  }
  ASSERT_TRUE(run_until([this] { return published(1); }));
  // Whoever leads neither shard 0 nor shard 1 goes wrong, so that nothing else changes.
  std::uint32_t wrong = 1;
  while (wrong == cluster_.leader_of(0) || wrong == cluster_.leader_of(1)) {
    ++wrong;
  }
  const std::uint64_t index = newest_[1];  // Of the next entry, counted from 0.
  ledgers_[wrong].flipping->flips = {ShardId{1}, LogIndex{index + 1}};
  decide(1, "wrong on one node");
  decide(1, "more");
  ASSERT_TRUE(run_until([&] { return ledgers_[wrong].openings == 2; }));
  EXPECT_NE(ledgers_[wrong].ended.message().find("shard 1 from entry " + std::to_string(index)),
            std::string::npos)
      << ledgers_[wrong].ended.message();
  // It does not vote there: nothing is applied, and its replica counts as forgetful.
  const auto repair = status(wrong).repair;
  ASSERT_EQ(repair.size(), 1u);
  EXPECT_EQ(repair.front(), (ledger::RepairedShard{ShardId{1}, index}));
  const auto told = [&](std::uint32_t id) {
    const auto alarms = status(id).alarms;
    return alarms.size() == 1 && alarms.front().node == NodeId{wrong} &&
           alarms.front().shard == ShardId{1} && alarms.front().index == index;
  };
  ASSERT_TRUE(run_until([&] {
    return cluster_.engine(wrong).view().forgotten_count == 0 && told(1 + wrong % kNodes) &&
           told(1 + (wrong + 1) % kNodes);
  }));
  cluster_.engine(wrong).request_checkpoint();
  ASSERT_TRUE(run_until([&] { return status(wrong).repair.empty(); }));
  decide(1, "after");
  ASSERT_TRUE(run_until([this] { return published(1); }));
  ASSERT_TRUE(run_until([&] {
    return status(wrong).publication.signed_size == status(wrong).publication.ordered_size;
  }));
  EXPECT_GT(status(wrong).publication.signed_size, 0u);
  EXPECT_EQ(ledgers_[wrong].openings, 2);
  const auto history = ledgers_[wrong].history->worker().history();
  EXPECT_EQ(history->size(ShardId{1}), cluster_.engine(wrong).view(ShardId{1}).applied.value);
}

}  // namespace
}  // namespace gcoord::server
