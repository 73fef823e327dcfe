// Whole engines of three resident nodes, by the twin, with their histories and publications: what
// is decided is published and outlives restarts, and a node whose history is not the others' is
// named, repaired and signs again.
#include "ledger/base/error_details.h"
#include "netcore/transport/transport_loopback.h"
#include "server/history/node_ledger.h"
#include "server/history/record_text.h"
#include "server/interfaces/passing_machine.h"
#include "server/platform/boot_time.h"
#include "server/resident/engine/resident_replicas.h"
#include "tests/scratch_folder.h"
#include "tests/server/resident/engine/resident_hosts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kNowMs = 1'796'000'000'000;

// Turns a bit of the leaf of one command before history sees it, as memory may.
class FlippedLeaf final : public WholePassingMachine {
 public:
  using WholePassingMachine::WholePassingMachine;

  std::optional<ShardId> flips;  // The next command of the shard; none after it.
  LogIndex flipped;              // Which one it was.

  void apply(const AppliedEntry& entry) override {
    if (flips != entry.shard || entry.payload.empty()) {
      return inner_.apply(entry);
    }
    flips.reset();
    flipped = entry.index;
    std::vector<std::byte> other(entry.payload.begin(), entry.payload.end());
    other[3] ^= std::byte{1};
    AppliedEntry changed = entry;
    changed.leaf = other;
    inner_.apply(changed);
  }
};

// Tables that also take the initial state.
class Tables final : public PassingMachine {
 public:
  explicit Tables(CopyService& copy) : PassingMachine(copy) {}

  void apply(const AppliedEntry& entry) override { inner_.apply(entry); }

  void serialize(ShardId shard, std::vector<std::byte>& bytes) override {
    inner_.serialize(shard, bytes);
  }

  Status install(ShardId shard, std::span<const std::byte> bytes) override {
    std::vector<std::byte> initial;
    if (bytes.empty()) {
      CopyService().serialize(shard, initial);
      bytes = initial;
    }
    return inner_.install(shard, bytes);
  }

  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override {
    return inner_.plausible(shard, bytes);
  }
};

struct LedgerNode {
  std::unique_ptr<MetricsRegistry> metrics;
  std::unique_ptr<CopyService> copy;
  std::unique_ptr<Tables> tables;
  std::unique_ptr<NodeHistory> history;
  std::unique_ptr<FlippedLeaf> flipped;
  std::unique_ptr<PublicationService> publication;
  std::unique_ptr<NodeLedger> ledger;
  std::unique_ptr<ResidentReplicas> engine;
  Status ended;
  int openings = 0;
};

class ResidentPublication : public testing::TestWithParam<consensus::Durability> {
 protected:
  ResidentPublication() { testing::internal::CaptureStdout(); }

  ~ResidentPublication() override {
    for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
      stop(id);
    }
    const std::string logged = testing::internal::GetCapturedStdout();
    if (HasFailure()) {
      std::cerr << logged;
    }
  }

  void start_all() {
    for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
      start(id);
    }
  }

  bool durable() const { return GetParam() == consensus::Durability::Durable; }

  LedgerNode& node(std::uint32_t id) { return nodes_[id - 1]; }

  static std::uint16_t port_of(std::uint32_t id) { return static_cast<std::uint16_t>(7000 + id); }

  ReplicaOptions options_of(std::uint32_t id) {
    ReplicaOptions options;
    options.cluster = ClusterId{77};
    options.node = NodeId{id};
    options.shard_count = kShards;
    for (std::uint32_t other = 1; other <= kTurnNodes; ++other) {
      if (other != id) {
        options.peers.push_back({NodeId{other}, "loop", port_of(other)});
      }
    }
    options.listen_host = "loop";
    options.listen_port = port_of(id);
    options.transport = fabric_.endpoint();
    options.data_directory = folder_.path("node-" + std::to_string(id));
    options.durability = GetParam();
    options.timing.election_ticks = 100;
    options.checkpoint_interval_ms = 300;
    options.resident_peers = ResidentPeers::Proxy;
    options.seed = 100 * ++salt_ + id;
    options.clock_us = [this] { return now_us_; };
    return options;
  }

  void start(std::uint32_t id) {
    LedgerNode& own = node(id);
    own.metrics = std::make_unique<MetricsRegistry>();
    own.copy = std::make_unique<CopyService>();
    own.tables = std::make_unique<Tables>(*own.copy);
    own.history = std::make_unique<NodeHistory>(
        NodeHistoryOptions{
            .shard_count = kShards, .durable = durable(), .metrics = own.metrics.get()},
        *own.tables);
    own.flipped = std::make_unique<FlippedLeaf>(own.history->service());
    own.publication = std::make_unique<PublicationService>(*own.flipped);
    ReplicaOptions options = options_of(id);
    auto ledger = NodeLedger::open({.cluster = options.cluster,
                                    .node = options.node,
                                    .nodes = {NodeId{1}, NodeId{2}, NodeId{3}},
                                    .shard_count = kShards,
                                    .data_directory = options.data_directory,
                                    .on_device = true},
                                   *own.metrics);
    ASSERT_TRUE(ledger.ok()) << ledger.status().to_string();
    own.ledger = std::move(ledger).value();
    options.repaired_shards = own.ledger->repaired_shards();
    options.on_directory = [&own, path = options.data_directory]() -> Status {
      GCOORD_TRY(auto store, ledger::HistoryStore::open(path + "/history", kShards));
      GCOORD_TRY_STATUS(own.history->open(std::move(store)));
      for (const ShardId shard : own.ledger->repaired_shards()) {
        own.history->worker().forget(shard);
      }
      return Status{};
    };
    options.before_checkpoint = [&own]() -> Status {
      GCOORD_TRY_STATUS(own.history->settle());
      return own.ledger->settle();
    };
    open(own, std::move(options));
  }

  void open(LedgerNode& own, ReplicaOptions options) {
    const std::uint32_t id = options.node.value;
    auto engine = ResidentReplicas::open(
        {.engine = std::move(options),
         .locks_max = 1 << 10,
         .nodes_take_records = [this] { return all_have_; },
         .nodes_keep_ledgers = [this, id] { return all_have_ && !unaware_.contains(id); }},
        *own.publication,
        *own.metrics);
    ASSERT_TRUE(engine.ok()) << engine.status().to_string();
    own.engine = std::move(engine).value();
    own.history->recovered();
    ASSERT_TRUE(own.history->settle().ok());
    ++own.openings;
    const auto history = own.history->worker().history();
    const Status started = own.ledger->start(
        own.engine->incarnation(),
        *own.publication,
        {.tree_of = [history](ShardId shard) { return history->reader(shard); },
         .heads_of = [history](std::span<const ShardId> shards) { return history->heads(shards); },
         .heads_at =
             [history](std::span<const ledger::ShardHead> named) {
               return history->heads_at(named);
             }},
        [] {});
    ASSERT_TRUE(started.ok()) << started.to_string();
  }

  void stop(std::uint32_t id) {
    LedgerNode& own = node(id);
    own.engine.reset();
    own.publication.reset();
    own.ledger.reset();
    own.flipped.reset();
    own.history.reset();
  }

  // One pass of every node's loop; a node that ends to be repaired is opened again, as gcoordd
  // does. Time goes by passes, and never faster than the disks' threads work.
  void pass() {
    now_us_ = std::min(now_us_ + 1000, boot_time_us());
    for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
      LedgerNode& own = node(id);
      if (own.engine == nullptr) {
        continue;
      }
      own.engine->turn();
      ASSERT_TRUE(own.engine->failure().ok()) << id << own.engine->failure().to_string();
      ASSERT_TRUE(own.history->end_turn(true).ok());
      const Status status = own.ledger->pass(*own.engine, kNowMs);
      if (!status.ok()) {
        ASSERT_EQ(status.detail(), ledger::kHistoryRepair) << status.to_string();
        own.engine->turn();
        own.ended = status;
        stop(id);
        start(id);
      } else if (++passes_ % 256 == 0) {
        ASSERT_TRUE(own.ledger->sweep(*own.engine).ok());
      }
    }
    if (passes_ % 16 == 0) {
      std::this_thread::yield();
    }
  }

  // What a failure is about.
  void describe() {
    for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
      const NodeView view = node(id).engine->view();
      const NodeLedgerStatus status = node(id).ledger->status();
      std::cerr << "node " << id << ": openings " << node(id).openings << ", forgotten "
                << view.forgotten_count << ", voting " << view.voting_count << ", unled "
                << view.unled_count << ", checkpoints " << view.checkpoint_count << ", repairs "
                << status.repair.size() << ", alarms " << status.alarms.size() << ", ordered "
                << status.publication.ordered_size << ", signed " << status.publication.signed_size
                << " " << status.publication.refusal.to_string() << "\n";
    }
  }

  // Far beyond what any machine needs.
  bool run_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(3);
    while (!done()) {
      if (HasFatalFailure() || std::chrono::steady_clock::now() > end) {
        describe();
        return false;
      }
      pass();
    }
    return true;
  }

  std::uint32_t leader_of(ShardId shard) {
    for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
      if (node(id).engine != nullptr && node(id).engine->view(shard).lease) {
        return id;
      }
    }
    return 0;
  }

  // An acquire that is granted anew, or is held already.
  void decide(const std::string& name) {
    const ShardId shard = shard_of(hash_name(name), kShards);
    const locks::LockCommand command = acquire(name, 5, ++sequence_);
    ASSERT_TRUE(run_until([&] {
      const std::uint32_t leader = leader_of(shard);
      if (leader == 0) {
        return false;
      }
      const std::uint64_t cookie = 1'000'000 + ++cookie_;
      ProposedCommand proposed{std::span<const std::byte>{}, &command};
      proposed.stamp = {protocol::RecordOrigin::Loopback, kNowMs};
      LedgerNode& own = node(leader);
      own.engine->propose(shard, proposed, cookie);
      for (int k = 0; k < 2000 && !own.copy->applied.contains(cookie) &&
                      !own.copy->failed.contains(cookie) && own.engine != nullptr;
           ++k) {
        pass();
      }
      newest_ = own.engine->view(shard).applied.value;
      return own.copy->applied.contains(cookie);
    }));
  }

  // Whether every node shows a checkpoint that has all of the name's shard so far.
  bool published(const std::string& name) {
    const ShardId shard = shard_of(hash_name(name), kShards);
    for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
      const auto head = node(id).ledger->shard_checkpoint(shard);
      if (!head.ok() || size_of(head.value()) < newest_) {
        return false;
      }
    }
    return true;
  }

  // Whether every node has signed all that is ordered.
  bool all_sign() {
    for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
      const auto view = node(id).ledger->status().publication;
      if (view.signed_size == 0 || view.signed_size != view.ordered_size) {
        return false;
      }
    }
    return true;
  }

  // Rounds and the logs' sizes, of all nodes.
  std::vector<std::uint64_t> said() {
    std::vector<std::uint64_t> all;
    for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
      all.push_back(node(id).ledger->status().publication.round);
      for (std::uint32_t shard = 0; shard < kShards; ++shard) {
        all.push_back(node(id).engine->view(ShardId{shard}).applied.value);
      }
    }
    return all;
  }

  // Whether, within the time of run_until(), nothing is decided for as long as six rounds take that
  // follow each other, and for many passes.
  bool stands_still() {
    const std::uint64_t long_ms = 6 * PublicationOptions{}.interval_ms;
    std::vector<std::uint64_t> last;
    std::uint64_t since_ms = 0;
    int passes = 0;
    return run_until([&] {
      if (auto now = said(); now != last) {
        last = std::move(now);
        since_ms = ledger_now_ms();
        passes = 0;
      }
      return ++passes > 500 && ledger_now_ms() >= since_ms + long_ms;
    });
  }

  // The second line of a checkpoint.
  static std::uint64_t size_of(const std::string& note) {
    return std::stoull(note.substr(note.find('\n') + 1));
  }

  std::shared_ptr<const ledger::TreeReader> tree(std::uint32_t id, ShardId shard) {
    return node(id).history->worker().history()->reader(shard);
  }

  std::vector<std::vector<std::byte>> leaves(std::uint32_t id, ShardId shard) {
    const auto reader = tree(id, shard);
    return reader->entries(0, reader->size()).value();
  }

  std::uint64_t tree_size(std::uint32_t id, ShardId shard) {
    return node(id).history->worker().history()->size(shard);
  }

  ScratchFolder folder_;
  netcore::LoopbackFabric fabric_;
  std::uint64_t now_us_ = boot_time_us();
  bool all_have_ = true;
  std::set<std::uint32_t> unaware_;  // Have not heard of it yet.
  std::uint64_t newest_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t cookie_ = 0;
  std::uint64_t salt_ = 0;
  std::uint64_t passes_ = 0;
  LedgerNode nodes_[kTurnNodes];
};

INSTANTIATE_TEST_SUITE_P(InBothModes,
                         ResidentPublication,
                         testing::Values(consensus::Durability::Durable,
                                         consensus::Durability::Memory));

TEST_P(ResidentPublication, WhatIsDecidedIsPublishedAndOutlivesRestarts) {
  start_all();
  decide("a");
  ASSERT_TRUE(run_until([this] { return published("a") && all_sign(); }));
  for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
    const std::uint64_t before = size_of(node(id).ledger->checkpoint().value());
    stop(id);
    start(id);
    ASSERT_TRUE(run_until([&] { return node(id).engine->view().forgotten_count == 0; }));
    decide("b" + std::to_string(id));
    ASSERT_TRUE(run_until([&] { return published("b" + std::to_string(id)) && all_sign(); }));
    EXPECT_GT(size_of(node(id).ledger->checkpoint().value()), before);
  }
  for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
    EXPECT_TRUE(node(id).ledger->status().alarms.empty());
    EXPECT_EQ(node(id).openings, 2);
  }
}

// An entry of a round stands in shard 0 in pieces, which are worth no round.
TEST_P(ResidentPublication, WithoutClientsRoundsAndLogsStandStill) {
  start_all();
  decide("a");
  ASSERT_TRUE(run_until([this] { return published("a") && all_sign(); }));
  ASSERT_TRUE(stands_still());
  for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
    stop(id);
    start(id);
    ASSERT_TRUE(run_until([&] {
      const NodeView view = node(id).engine->view();
      return all_sign() && view.voting_count == kShards && view.unled_count == 0;
    }));
  }
  ASSERT_TRUE(stands_still());
  decide("b");
  ASSERT_TRUE(run_until([this] { return published("b") && all_sign(); }));
}

TEST_P(ResidentPublication, ANodeWithAnotherLeafIsNamedRepairedAndSignsAgain) {
  start_all();
  const ShardId shard = shard_of(hash_name("a"), kShards);
  decide("a");
  ASSERT_TRUE(run_until([this] { return published("a"); }));
  // Whoever leads neither shard 0 nor the name's goes wrong, so that nothing else changes.
  std::uint32_t wrong = 1;
  while (wrong == leader_of(ShardId{0}) || wrong == leader_of(shard)) {
    ++wrong;
  }
  node(wrong).flipped->flips = shard;
  decide("a");
  ASSERT_TRUE(run_until([&] { return !node(wrong).flipped->flips; }));
  const std::uint64_t index = node(wrong).flipped->flipped.value - 1;  // Counted from 0.
  decide("a");
  ASSERT_TRUE(run_until([&] { return node(wrong).openings == 2; }));
  const std::string place =
      "shard " + std::to_string(shard.value) + " from entry " + std::to_string(index);
  EXPECT_NE(node(wrong).ended.message().find(place), std::string::npos)
      << node(wrong).ended.message();
  const auto told = [&](std::uint32_t id) {
    const auto alarms = node(id).ledger->status().alarms;
    return !alarms.empty() && alarms.front().node == NodeId{wrong} &&
           alarms.front().shard == shard && alarms.front().index == index;
  };
  ASSERT_TRUE(run_until([&] {
    return told(1 + wrong % kTurnNodes) && told(1 + (wrong + 1) % kTurnNodes) &&
           node(wrong).ledger->status().repair.empty();
  }));
  decide("a");
  ASSERT_TRUE(run_until([&] { return published("a") && all_sign(); }));
  EXPECT_EQ(node(wrong).openings, 2);
  EXPECT_EQ(tree_size(wrong, shard), node(wrong).engine->view(shard).applied.value);
}

TEST_P(ResidentPublication, NothingIsPublishedBeforeAllNodesCan) {
  all_have_ = false;
  start_all();
  decide("a");
  const std::uint64_t old = newest_;
  for (int k = 0; k < 1000; ++k) {
    pass();
  }
  for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
    EXPECT_FALSE(node(id).ledger->checkpoint().ok());
    EXPECT_FALSE(node(id).engine->abilities().publishes);
    EXPECT_EQ(node(id).ledger->status().publication.ordered_size, 0u);
    EXPECT_FALSE(node(id).ledger->status().publication.publisher);
  }
  all_have_ = true;
  pass();  // Each engine hears of it.
  decide("a");
  ASSERT_TRUE(run_until([this] { return published("a"); }));
  const ShardId shard = shard_of(hash_name("a"), kShards);
  const auto reader = node(1).history->worker().history()->reader(shard);
  const auto leaves = reader->entries(old - 1, newest_ - old + 1).value();
  EXPECT_TRUE(is_device_entry(leaves.front()));
  EXPECT_FALSE(is_device_entry(leaves.back()));
  EXPECT_EQ(record_facts(leaves.back())[1].second, "loopback");
}

// What a release without stamps left: its leaves are below the first entry with one, for ever.
TEST_P(ResidentPublication, ADirectoryOfBeforeKeepsItsLeavesAndGoesOnWithRecords) {
  if (!durable()) {
    GTEST_SKIP() << "nothing outlives a stop of all nodes there";
  }
  all_have_ = false;
  start_all();
  const ShardId shard = shard_of(hash_name("a"), kShards);
  decide("a");
  decide("a");
  ASSERT_TRUE(run_until([&] { return tree_size(1, shard) == newest_; }));
  const auto old = leaves(1, shard);
  EXPECT_TRUE(is_device_entry(old.back()));
  for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
    stop(id);
  }
  all_have_ = true;
  start_all();
  decide("a");
  ASSERT_TRUE(run_until([this] { return published("a") && all_sign(); }));
  for (std::uint32_t id = 1; id <= kTurnNodes; ++id) {
    const auto grown = leaves(id, shard);
    ASSERT_GT(grown.size(), old.size());
    EXPECT_TRUE(std::equal(old.begin(), old.end(), grown.begin())) << id;
    EXPECT_TRUE(std::none_of(
        grown.begin() + static_cast<std::ptrdiff_t>(old.size()), grown.end(), is_device_entry));
    EXPECT_TRUE(node(id).ledger->status().alarms.empty());
  }
}

// Who hears of it first stamps what it proposes; the others make the same leaves of it.
TEST_P(ResidentPublication, WhileNodesHearOfItOneAfterTheOtherTheirTreesAgree) {
  unaware_ = {1, 2, 3};
  start_all();
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f", "g", "h"};
  for (std::uint32_t heard = 0; heard <= kTurnNodes; ++heard) {
    unaware_.erase(heard);
    for (const std::string& name : names) {
      decide(name);
    }
  }
  ASSERT_TRUE(run_until([&] {
    return all_sign() && std::ranges::all_of(names, [this](const std::string& name) {
             const ShardId shard = shard_of(hash_name(name), kShards);
             return tree_size(1, shard) == tree_size(2, shard) &&
                    tree_size(1, shard) == tree_size(3, shard);
           });
  }));
  for (const std::string& name : names) {
    const ShardId shard = shard_of(hash_name(name), kShards);
    EXPECT_EQ(leaves(2, shard), leaves(1, shard)) << name;
    EXPECT_EQ(leaves(3, shard), leaves(1, shard)) << name;
    EXPECT_TRUE(std::ranges::any_of(leaves(1, shard), is_device_entry)) << name;
    EXPECT_FALSE(is_device_entry(leaves(1, shard).back())) << name;
  }
}

}  // namespace
}  // namespace gcoord::server
