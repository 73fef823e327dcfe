// Reads of the past where a node has a new directory, and so lacks the beginning of every log.
#include "tests/cli/process_cluster.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr std::uint32_t kShards = 16;
constexpr std::uint32_t kLost = 2;
constexpr std::uint64_t kCheckpoints = 4;
constexpr std::uint64_t kRoundsMax = 5;
constexpr std::uint32_t kDetailPastCompacted = 6320;

class PastAfterRejoinTest : public ProcessCluster {
 protected:
  PastAfterRejoinTest() : ProcessCluster(kShards) {}

  // With checkpoints every second, so that logs soon begin behind their first entry.
  void SetUp() override {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.shards = kShards;
    options.node_arguments = {
        "--election-ms", "500", "--heartbeat-ms", "50", "--checkpoint-interval", "1s"};
    auto cluster = chaos::LocalCluster::plan(options);
    ASSERT_TRUE(cluster.ok()) << cluster.status().to_string();
    cluster_.emplace(std::move(cluster).value());
    ASSERT_TRUE(cluster_->start_all(kPatience).ok());
  }

  static nlohmann::json status_of(client::Client& client, std::uint32_t node) {
    const auto status = client.node_status(node);
    return status.ok() ? nlohmann::json::parse(status.value(), nullptr, false)
                       : nlohmann::json::object();
  }

  // Takes and releases a name in every shard until each node has made some more checkpoints.
  void write_past_checkpoints(client::Client& client,
                              client::Session& session,
                              std::uint64_t count) {
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      const auto end = std::chrono::steady_clock::now() + kPatience;
      while (count_of(client, node) < count && std::chrono::steady_clock::now() < end) {
        for (std::uint32_t number = 0; number < 4 * kShards; ++number) {
          auto lock = session.acquire("other-" + std::to_string(number));
          ASSERT_TRUE(lock.ok()) << lock.status().to_string();
          ASSERT_TRUE(lock.value().release().ok());
        }
      }
      ASSERT_GE(count_of(client, node), count);
    }
  }

  static std::uint64_t count_of(client::Client& client, std::uint32_t node) {
    const auto checkpoint = status_of(client, node).value("checkpoint", nlohmann::json::object());
    return std::stoull(checkpoint.value("count", "0"));
  }

  void empty_directory() {
    cluster_->kill(kLost);
    std::filesystem::remove_all(cluster_->data_directory(kLost));
    cluster_->lose_memory(kLost);
    spawn(kLost);
  }

  // Until the node votes in every shard again.
  static void await_whole(client::Client& client) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    bool whole = false;
    while (!whole && std::chrono::steady_clock::now() < end) {
      const auto memory = status_of(client, kLost).value("memory", nlohmann::json::object());
      whole = memory.value("voting", 0u) == kShards && !memory.value("rejoining", true);
    }
    ASSERT_TRUE(whole);
  }

  // A read of the past passes over nodes that this client could not reach when it tried last, as it
  // cannot for a while after a restart.
  static void await_reached(client::Client& client) {
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      const auto end = std::chrono::steady_clock::now() + kPatience;
      while (status_of(client, node).empty()) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << "node " << node;
      }
    }
  }

  // The shard's other leaders are restarted until it is this node's turn.
  void make_leader(client::Client& client, std::uint32_t shard) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    std::uint32_t leader = 0;
    while (leader != kLost && std::chrono::steady_clock::now() < end) {
      const auto leaders = client.leader_map(shard, 1);
      leader = leaders.ok() && !leaders.value().empty() ? leaders.value().front() : 0;
      if (leader != 0 && leader != kLost) {
        restart(leader);
      }
    }
    ASSERT_EQ(leader, kLost);
  }
};

// They ended with its GC6320, though the other nodes have the logs.
TEST_F(PastAfterRejoinTest, R6WhatTheNewLeaderLacksTheOtherNodesShow) {
  client::Client client = connect(1);
  client::Session session = open(client);
  std::vector<client::Lock> locks;
  std::vector<std::uint64_t> indexes;
  for (std::uint32_t number = 0; number < 4 * kShards; ++number) {
    auto lock = session.acquire("name-" + std::to_string(number));
    ASSERT_TRUE(lock.ok()) << lock.status().to_string();
    locks.push_back(std::move(lock).value());
    indexes.push_back(client.get(locks.back().name()).value().acquired_index);
  }
  // A node that was given all entries of a log, and no snapshot, has its past.
  std::size_t lacking = locks.size();
  for (std::uint64_t round = 1; lacking == locks.size() && round <= kRoundsMax; ++round) {
    write_past_checkpoints(client, session, round * kCheckpoints);
    empty_directory();
    await_whole(client);
    lacking = 0;
    while (lacking < locks.size() &&
           client.read_at(locks[lacking].name(), indexes[lacking], kLost).status().detail() !=
               kDetailPastCompacted) {
      ++lacking;
    }
  }
  ASSERT_LT(lacking, locks.size()) << "the new directory was given snapshots";
  make_leader(client, home(locks[lacking].name()));
  await_reached(client);
  const auto past = client.read_at(locks[lacking].name(), indexes[lacking]);
  ASSERT_TRUE(past.ok()) << past.status().to_string();
  ASSERT_TRUE(past.value().lock.has_value());
  EXPECT_EQ(past.value().lock->token, locks[lacking].fence());
}

}  // namespace
}  // namespace gcoord::cli
