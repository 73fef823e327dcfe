// Whole engines in one process, over loopback links, disks in memory and a clock that the test
// owns.
//
// The threads that write the log and the checkpoints are real; settle() waits for them by their
// results, never by time, and only then the clock moves. So elections depend on the test's clock
// alone.
#pragma once

#include "ledger/disk/memory_disk.h"
#include "netcore/transport/transport_loopback.h"
#include "server/host_turn/host_replicas.h"
#include "tests/ledger/gated_disk.h"
#include "tests/scratch_folder.h"
#include "tests/server/host_turn/engine_toy_service.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::server {

class EngineCluster {
 public:
  struct Node {
    NodeId id;
    ledger::MemoryDisk identity_disk;
    ledger::MemoryDisk wal_disk;
    ledger::GatedDisk gated_wal{
        wal_disk};  // Syncs of the log stand still while its gate is closed.
    std::unique_ptr<ToyService> service;
    std::unique_ptr<MetricsRegistry> metrics;
    std::shared_ptr<void> beside;          // What between() made; ends after the engine.
    std::unique_ptr<HostReplicas> engine;  // nullptr: the node is down.
  };

  explicit EngineCluster(std::uint32_t node_count, std::uint32_t shard_count)
      : shard_count_(shard_count) {
    for (std::uint32_t k = 0; k < node_count; ++k) {
      nodes_.push_back(std::make_unique<Node>());
      nodes_.back()->id = NodeId{k + 1};
    }
  }

  ~EngineCluster() { nodes_.clear(); }

  // Changes the options of nodes that are started later.
  std::function<void(ReplicaOptions&)> tune = [](ReplicaOptions&) {};

  // What stands between a node's engine and its service, from its next start on.
  std::function<StateMachine&(std::uint32_t id, StateMachine& inner)> around =
      [](std::uint32_t, StateMachine& inner) -> StateMachine& { return inner; };

  // What stands between engine and service of nodes that are started later.
  std::function<StateMachine&(Node&, ReplicaOptions&)> between =
      [](Node& node, ReplicaOptions&) -> StateMachine& { return *node.service; };
  // After each turn of a node.
  std::function<void(Node&)> after_turn = [](Node&) {};

  Node& node(std::uint32_t id) { return *nodes_[id - 1]; }

  HostReplicas& engine(std::uint32_t id) { return *node(id).engine; }

  netcore::LoopbackFabric& fabric() { return fabric_; }

  ToyService& service(std::uint32_t id) { return *node(id).service; }

  ReplicaOptions options_of(std::uint32_t id) {
    ReplicaOptions options;
    options.cluster = ClusterId{77};
    options.node = NodeId{id};
    options.shard_count = shard_count_;
    for (const auto& other : nodes_) {
      if (other->id != options.node) {
        options.peers.push_back({other->id, "loop", port_of(other->id)});
      }
    }
    options.listen_host = "loop";
    options.listen_port = port_of(options.node);
    options.transport = fabric_.endpoint();
    options.data_directory = directory_.path(std::to_string(id));
    std::filesystem::create_directories(options.data_directory);
    options.identity_disk = &node(id).identity_disk;
    options.wal_disk = &node(id).gated_wal;
    options.wal_segment_bytes = std::uint64_t{1} << 20;
    options.seed = 1000 + id;
    options.checkpoint_interval_ms = 0;
    options.clock_us = [this] { return now_us_; };
    tune(options);
    return options;
  }

  Status try_start(std::uint32_t id) {
    Node& target = node(id);
    target.beside = nullptr;
    target.service = std::make_unique<ToyService>();
    target.metrics = std::make_unique<MetricsRegistry>();
    ReplicaOptions options = options_of(id);
    StateMachine& service = around(id, between(target, options));
    auto opened = HostReplicas::open(std::move(options), service, *target.metrics);
    if (!opened.ok()) {
      return opened.status();
    }
    target.engine = std::move(opened).value();
    return Status{};
  }

  void start(std::uint32_t id) {
    const Status status = try_start(id);
    ASSERT_TRUE(status.ok()) << status.to_string();
  }

  void start_all() {
    for (const auto& each : nodes_) {
      start(each->id.value);
    }
  }

  // The process ends; what its thread had in hand is written first, as a kill may or may not do.
  void stop(std::uint32_t id) { node(id).engine.reset(); }

  // Replaces the disks of a node that is down by empty ones.
  void wipe(std::uint32_t id) {
    nodes_[id - 1] = std::make_unique<Node>();
    nodes_[id - 1]->id = NodeId{id};
    std::filesystem::remove_all(directory_.path(std::to_string(id)));
  }

  // The disks of a node that is down, as a backup keeps them.
  struct Backup {
    std::map<std::string, std::vector<std::byte>> identity;
    std::map<std::string, std::vector<std::byte>> wal;
    std::filesystem::path store;
  };

  Backup back_up(std::uint32_t id) {
    Backup backup{images(node(id).identity_disk),
                  images(node(id).wal_disk),
                  directory_.path("backup-" + std::to_string(id))};
    std::filesystem::copy(store_path(id), backup.store, std::filesystem::copy_options::recursive);
    return backup;
  }

  void restore(std::uint32_t id, const Backup& backup) {
    wipe(id);
    for (const auto& [name, bytes] : backup.identity) {
      ASSERT_TRUE(node(id).identity_disk.create(name, bytes.size()).ok());
      node(id).identity_disk.set_image(name, bytes);
    }
    for (const auto& [name, bytes] : backup.wal) {
      ASSERT_TRUE(node(id).wal_disk.create(name, bytes.size()).ok());
      node(id).wal_disk.set_image(name, bytes);
    }
    ASSERT_TRUE(node(id).wal_disk.sync_directory().ok());
    std::filesystem::copy(backup.store, store_path(id), std::filesystem::copy_options::recursive);
  }

  // One turn of every node, without waiting for anybody's disk.
  void turn_all() {
    for (const auto& each : nodes_) {
      if (each->engine) {
        each->engine->turn();
        after_turn(*each);
      }
    }
  }

  // Turns until nobody has anything to do and the disks are quiet.
  void settle() {
    for (bool busy = true; busy;) {
      busy = false;
      for (const auto& each : nodes_) {
        busy |= each->engine && turn(*each);
      }
    }
  }

  // Lets time pass in ticks until the condition holds; fails the test after the given time.
  void run_until(const std::function<bool()>& condition, std::uint64_t limit_ms = 20000) {
    for (std::uint64_t ms = 0; ms <= limit_ms; ms += 10) {
      settle();
      if (condition()) {
        return;
      }
      now_us_ += 10000;
    }
    FAIL() << "the condition did not come true in " << limit_ms << " ms";
  }

  // For what a thread does, not the clock: turns until the condition holds, however long it takes.
  void wait_for(const std::function<bool()>& condition) {
    for (settle(); !condition(); settle()) {
      std::this_thread::yield();
    }
  }

  void run_ms(std::uint64_t ms) {
    for (std::uint64_t k = 0; k < ms; k += 10) {
      settle();
      now_us_ += 10000;
    }
    settle();
  }

  // The node that leads the shard in the highest term; 0: none.
  std::uint32_t leader_of(std::uint32_t shard) {
    std::uint32_t leader = 0;
    Term term;
    for (const auto& each : nodes_) {
      if (!each->engine) {
        continue;
      }
      const ShardView view = each->engine->view(ShardId{shard});
      if (view.role == consensus::Role::Leader && view.term > term) {
        leader = each->id.value;
        term = view.term;
      }
    }
    return leader;
  }

  bool all_led() {
    for (std::uint32_t shard = 0; shard < shard_count_; ++shard) {
      if (leader_of(shard) == 0) {
        return false;
      }
    }
    return true;
  }

  // Every running node has applied the same entries of the shard, all there are.
  bool agreed(std::uint32_t shard) {
    const ToyService* first = nullptr;
    LogIndex applied;
    for (const auto& each : nodes_) {
      if (!each->engine) {
        continue;
      }
      const ShardView view = each->engine->view(ShardId{shard});
      if (view.applied != view.last || (first != nullptr && view.applied != applied)) {
        return false;
      }
      if (first != nullptr &&
          first->commands(ShardId{shard}) != each->service->commands(ShardId{shard})) {
        return false;
      }
      first = each->service.get();
      applied = view.applied;
    }
    return true;
  }

  bool all_agreed() {
    for (std::uint32_t shard = 0; shard < shard_count_; ++shard) {
      if (!agreed(shard)) {
        return false;
      }
    }
    return true;
  }

  std::uint64_t propose(std::uint32_t id, std::uint32_t shard, const std::string& command) {
    const std::uint64_t cookie = ++cookie_;
    engine(id).propose(
        ShardId{shard}, std::as_bytes(std::span(command.data(), command.size())), cookie);
    return cookie;
  }

  std::uint64_t read(std::uint32_t id, std::uint32_t shard) {
    engine(id).read(ShardId{shard}, ++cookie_);
    return cookie_;
  }

  std::uint64_t read_by_round(std::uint32_t id, std::uint32_t shard) {
    engine(id).read_by_round(ShardId{shard}, ++cookie_);
    return cookie_;
  }

  bool decided(std::uint32_t id, std::uint64_t cookie) {
    const auto& list = service(id).decided;
    return std::find(list.begin(), list.end(), cookie) != list.end();
  }

  void advance_ms(std::uint64_t ms) { now_us_ += ms * 1000; }

  std::uint64_t count(std::uint32_t id, const std::string& metric) {
    std::uint64_t value = 0;
    node(id).metrics->visit(
        [&](const MetricsRegistry::CounterRow& row) {
          value += row.name.name == metric ? row.metric.value() : 0;
        },
        [](const MetricsRegistry::GaugeRow&) {},
        [](const MetricsRegistry::HistogramRow&) {});
    return value;
  }

  std::uint64_t counter(std::uint32_t id, const std::string& metric) {
    std::uint64_t value = 0;
    node(id).metrics->visit(
        [&](const MetricsRegistry::CounterRow& row) {
          value += row.name.name == metric ? row.metric.value() : 0;
        },
        [](const MetricsRegistry::GaugeRow&) {},
        [](const MetricsRegistry::HistogramRow&) {});
    return value;
  }

  std::int64_t gauge(std::uint32_t id, const std::string& metric) {
    std::int64_t value = 0;
    node(id).metrics->visit([](const MetricsRegistry::CounterRow&) {},
                            [&](const MetricsRegistry::GaugeRow& row) {
                              value += row.name.name == metric ? row.metric.value() : 0;
                            },
                            [](const MetricsRegistry::HistogramRow&) {});
    return value;
  }

 private:
  std::filesystem::path store_path(std::uint32_t id) const {
    return directory_.path(std::to_string(id));
  }

  static std::map<std::string, std::vector<std::byte>> images(ledger::MemoryDisk& disk) {
    std::map<std::string, std::vector<std::byte>> all;
    const auto names = disk.list();
    for (const std::string& name : names.value()) {
      all[name] = disk.image(name);
    }
    return all;
  }

  static std::uint16_t port_of(NodeId id) { return static_cast<std::uint16_t>(7000 + id.value); }

  bool turn(Node& node) {
    HostReplicas& engine = *node.engine;
    const std::size_t done = engine.turn();
    after_turn(node);
    if (done > 0) {
      return true;
    }
    if (!engine.failure().ok()) {
      return false;
    }
    const NodeView view = engine.view();
    if (view.submitted_lsn != view.durable_lsn) {
      std::this_thread::yield();
      return true;
    }
    return !engine.arm();
  }

  std::uint32_t shard_count_;
  const ScratchFolder directory_;
  std::uint64_t now_us_ = 1'000'000;
  std::uint64_t cookie_ = 0;
  netcore::LoopbackFabric fabric_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace gcoord::server
