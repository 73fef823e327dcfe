// Whole engines over TCP, real logs of record and the system's clock, each on a thread of its own
// and with turn threads besides: what ThreadSanitizer looks at as it runs in a node (label
// threads).
//
// Checkpoints are kept in memory, because RocksDB is not built with ThreadSanitizer, and says what
// no suppression matches where one process opens several stores at once, as no node does.
#include "ledger/checkpoint/memory_checkpoint_store.h"
#include "server/host_turn/host_replicas.h"
#include "tests/scratch_folder.h"
#include "tests/server/host_turn/engine_toy_service.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kNodes = 3;
constexpr std::uint32_t kShards = 600;
constexpr std::uint32_t kRounds = 3;  // Commands of every shard.

// Ports that were free a moment ago.
std::array<std::uint16_t, kNodes> free_ports() {
  std::array<std::uint16_t, kNodes> ports{};
  std::array<int, kNodes> sockets{};
  for (std::uint32_t k = 0; k < kNodes; ++k) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    sockets[k] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(sockets[k], reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::getsockname(sockets[k], reinterpret_cast<sockaddr*>(&address), &length), 0);
    ports[k] = ntohs(address.sin_port);
  }
  for (const int socket : sockets) {
    ::close(socket);
  }
  return ports;
}

struct Proposed {
  std::size_t round = 0;  // From 1; 0: nothing.
  std::uint64_t cookie = 0;
};

// One node: its engine and its service, on the thread that calls run().
class TcpNode {
 public:
  TcpNode(ReplicaOptions options, const std::atomic<bool>& ends)
      : options_(std::move(options)), ends_(ends) {
    options_.open_checkpoint_store = [this] {
      return Result<std::unique_ptr<ledger::CheckpointStore>>{
          ledger::open_memory_checkpoint_store(checkpoints_)};
    };
  }

  void run() {
    serve();
    ended_.store(true);
  }

  // Whether run() is over, before its end if it failed.
  bool ended() const { return ended_.load(); }

  // Whether every shard has all commands here.
  bool complete() const { return complete_.load(); }

  // After run(): turns that turn threads shared.
  std::uint64_t shared() const { return shared_turns_; }

 private:
  void serve() {
    ToyService service;
    MetricsRegistry metrics;
    auto opened = HostReplicas::open(std::move(options_), service, metrics);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    HostReplicas& engine = *opened.value();
    while (!ends_.load()) {
      propose(engine, service);
      const std::size_t done = engine.turn();
      ASSERT_TRUE(engine.failure().ok()) << engine.failure().to_string();
      complete_.store(completed(service));
      if (done == 0 && engine.arm()) {
        wait(engine);
      }
    }
    shared_turns_ = shared_turns(metrics);
  }

  // The next command of each shard that this node leads and whose last one it knows: once more if
  // it was refused or lost, because a node that is slow may lose the lead before it is decided.
  void propose(HostReplicas& engine, const ToyService& service) {
    for (const auto& [shard, role] : service.roles) {
      const std::size_t known = service.commands(ShardId{shard}).size();
      Proposed& last = proposed_[shard];
      const bool is_under_way = last.round > known && !service.failed.contains(last.cookie);
      if (role.role == consensus::Role::Leader && known < kRounds && !is_under_way) {
        const std::string text = "round " + std::to_string(known);
        last = {known + 1, ++cookie_};
        engine.propose(ShardId{shard}, std::as_bytes(std::span(text)), last.cookie);
      }
    }
  }

  bool completed(const ToyService& service) const {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      if (service.commands(ShardId{shard}).size() < kRounds) {
        return false;
      }
    }
    return true;
  }

  static void wait(HostReplicas& engine) {
    constexpr std::int64_t kLongestMs = 20;  // It must see ends_.
    std::vector<pollfd> fds;
    for (const int fd : engine.event_fds()) {
      fds.push_back({fd, POLLIN, 0});
    }
    const auto ms = std::min<std::int64_t>(engine.until_next_deadline().count(), kLongestMs);
    ::poll(fds.data(), fds.size(), static_cast<int>(ms));
  }

  static std::uint64_t shared_turns(MetricsRegistry& metrics) {
    std::uint64_t value = 0;
    metrics.visit(
        [&](const MetricsRegistry::CounterRow& row) {
          value += row.name.name == "gcoord_server_turns_shared_total" ? row.metric.value() : 0;
        },
        [](const MetricsRegistry::GaugeRow&) {},
        [](const MetricsRegistry::HistogramRow&) {});
    return value;
  }

  ledger::CheckpointMedium checkpoints_;
  ReplicaOptions options_;
  const std::atomic<bool>& ends_;
  std::atomic<bool> complete_{false};
  std::atomic<bool> ended_{false};
  std::uint64_t shared_turns_ = 0;
  std::uint64_t cookie_ = 0;
  std::map<std::uint32_t, Proposed> proposed_;  // By shard: the last that was proposed here.
};

TEST(EngineOverTcp, NodesOfSeveralTurnThreadsElectAndDecide) {
  const ScratchFolder folder;
  const auto ports = free_ports();
  std::atomic<bool> ends{false};
  std::vector<std::unique_ptr<TcpNode>> nodes;
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    ReplicaOptions options;
    options.cluster = ClusterId{77};
    options.node = NodeId{id};
    options.shard_count = kShards;
    options.turn_threads = 1 + id;
    options.listen_port = ports[id - 1];
    for (std::uint32_t other = 1; other <= kNodes; ++other) {
      if (other != id) {
        options.peers.push_back({NodeId{other}, "127.0.0.1", ports[other - 1]});
      }
    }
    options.data_directory = folder.path(std::to_string(id));
    std::filesystem::create_directory(options.data_directory);
    std::filesystem::permissions(options.data_directory, std::filesystem::perms::owner_all);
    options.checkpoint_interval_ms = 50;
    nodes.push_back(std::make_unique<TcpNode>(std::move(options), ends));
  }
  std::vector<std::thread> threads;
  for (const auto& node : nodes) {
    threads.emplace_back([&node] { node->run(); });
  }
  // Bounds a failure only.
  const auto latest = std::chrono::steady_clock::now() + std::chrono::minutes{4};
  const auto complete = [&] {
    return std::all_of(
        nodes.begin(), nodes.end(), [](const auto& node) { return node->complete(); });
  };
  const auto any_ended = [&] {
    return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node->ended(); });
  };
  while (!complete() && !any_ended() && std::chrono::steady_clock::now() < latest) {
    ::poll(nullptr, 0, 5);
  }
  EXPECT_TRUE(complete());
  ends = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const auto& node : nodes) {
    EXPECT_GT(node->shared(), 0u);
  }
}

}  // namespace
}  // namespace gcoord::server
