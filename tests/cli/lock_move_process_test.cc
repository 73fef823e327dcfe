// L19 with real nodes: a held lock with 100 waiters moves while clients look on and nodes are
// killed.
#include "chaos/process/local_cluster.h"
#include "common/name_hash.h"
#include "gcoord/client.h"
#include "tests/cli/programs.h"

#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kShards = 8;
constexpr std::uint32_t kNodes = 3;
constexpr std::size_t kClients = 4;
constexpr std::size_t kWaiters = 100;
constexpr milliseconds kTtl{60'000};

class LockMoveProcessTest : public testing::Test {
 protected:
  struct Waiting {
    client::Session session;
    client::Future<client::Result<client::Lock>> granted;
  };

  void SetUp() override {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.node_count = kNodes;
    options.shards = kShards;
    options.node_arguments = {"--election-ms", "500", "--heartbeat-ms", "50"};
    auto cluster = chaos::LocalCluster::plan(options);
    ASSERT_TRUE(cluster.ok()) << cluster.status().to_string();
    cluster_.emplace(std::move(cluster).value());
    ASSERT_TRUE(cluster_->start_all(kPatience).ok());
    for (std::size_t i = 0; i < kClients + 1; ++i) {
      clients_.push_back(connect(i + 1));
    }
  }

  client::Client connect(std::uint64_t seed) const {
    client::ClientOptions options;
    options.endpoints = cluster_->endpoints();
    options.request_timeout = kPatience;
    options.connect_timeout = kPatience;
    options.wait_for_cluster = true;
    options.seed = seed;
    auto client = client::Client::connect(std::move(options));
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    return std::move(client).value();
  }

  client::Session open(client::Client& client) {
    auto session = client.open_session({.ttl = kTtl, .on_event = {}});
    EXPECT_TRUE(session.ok()) << session.status().to_string();
    return std::move(session).value();
  }

  // The operator's client; the others wait.
  client::Client& operator_client() { return clients_[kClients]; }

  std::vector<std::uint64_t> queue(const std::string& name) {
    std::vector<std::uint64_t> sessions;
    const auto lock = operator_client().get(name, true);
    EXPECT_TRUE(lock.ok()) << lock.status().to_string();
    if (lock.ok()) {
      for (const client::Waiter& waiter : lock.value().waiters) {
        sessions.push_back(waiter.session_id);
      }
    }
    return sessions;
  }

  // 100 sessions wait for the lock, one behind the other.
  void queue_up(const std::string& name) {
    for (std::size_t i = 0; i < kWaiters; ++i) {
      client::Session session = open(clients_[i % kClients]);
      expected_.push_back(session.id());
      auto granted = session.acquire_async(name);
      waiting_.push_back({std::move(session), std::move(granted)});
      while (queue(name).size() <= i) {
      }
    }
    ASSERT_EQ(queue(name), expected_);
  }

  // Everybody has the lock once, in the order of the queue, under rising tokens.
  void expect_passes_on(client::Lock& held) {
    std::uint64_t token = held.fence();
    ASSERT_TRUE(held.release().ok());
    for (Waiting& each : waiting_) {
      auto lock = each.granted.get();
      ASSERT_TRUE(lock.ok()) << lock.status().to_string();
      EXPECT_FALSE(lock.value().already_held());
      EXPECT_GT(lock.value().fence(), token);
      token = lock.value().fence();
      const auto released = lock.value().release();
      ASSERT_TRUE(released.ok()) << released.to_string();
    }
  }

  static std::uint32_t home(const std::string& name) {
    return shard_of(hash_name(name), kShards).value;
  }

  chaos::ScratchDirectory directory_ = scratch();
  std::optional<chaos::LocalCluster> cluster_;
  std::vector<client::Client> clients_;
  std::vector<Waiting> waiting_;
  std::vector<std::uint64_t> expected_;
};

TEST_F(LockMoveProcessTest, L19AHeldLockWith100WaitersMovesAndEachIsToldOnce) {
  const std::string name = "jobs/moved";
  const std::uint32_t to = (home(name) + 1) % kShards;
  client::Session session = open(operator_client());
  auto held = session.acquire(name);
  ASSERT_TRUE(held.ok());
  queue_up(name);
  const client::Status moved = operator_client().move_lock(name, to);
  ASSERT_TRUE(moved.ok()) << moved.to_string();
  EXPECT_TRUE(held.value().valid());
  const auto verdict = operator_client().check(name, held.value().fence());
  ASSERT_TRUE(verdict.ok()) << verdict.status().to_string();
  EXPECT_EQ(verdict.value(), client::Verdict::Valid);
  EXPECT_EQ(operator_client().get(name, false).value().shard, to);
  EXPECT_EQ(queue(name), expected_);
  expect_passes_on(held.value());
  std::uint64_t moves = 0;
  for (std::size_t i = 0; i < kClients; ++i) {
    moves += clients_[i].statistics().moves;
  }
  EXPECT_EQ(moves, kWaiters) << "one for each request that waited";
  EXPECT_EQ(operator_client().statistics().moves, 1u) << "and then it is known";
}

TEST_F(LockMoveProcessTest, L19AMoveOutlivesTheNodesThatBeganIt) {
  const std::string name = "jobs/moved";
  client::Session session = open(operator_client());
  auto held = session.acquire(name);
  ASSERT_TRUE(held.ok());
  queue_up(name);
  std::uint32_t at = home(name);
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    const std::uint32_t to = at == home(name) ? (at + node) % kShards : home(name);
    std::thread mover([&] {
      const client::Status moved = operator_client().move_lock(name, to);
      EXPECT_TRUE(moved.ok()) << moved.to_string();
    });
    cluster_->kill(node);
    mover.join();
    ASSERT_TRUE(cluster_->spawn(node).ok());
    ASSERT_TRUE(cluster_->wait_ready(node, kPatience).ok());
    at = to;
    EXPECT_EQ(operator_client().get(name, false).value().shard, at);
    EXPECT_EQ(queue(name), expected_);
  }
  expect_passes_on(held.value());
}

TEST_F(LockMoveProcessTest, L19TheVerbSaysWhatItDidAndWhyNot) {
  std::string endpoints;
  for (const std::string& endpoint : cluster_->endpoints()) {
    endpoints += (endpoints.empty() ? "" : ",") + endpoint;
  }
  const Ctl ctl{endpoints};
  const std::string name = "a";
  const std::uint32_t to = (home(name) + 3) % kShards;
  const auto held = ctl.json({"lock", "acquire", name, "--ttl", "60s"});
  const auto moved = ctl.json({"lock", "move", name, "--to-shard", std::to_string(to)});
  EXPECT_EQ(moved["shard"], to);
  EXPECT_EQ(ctl.json({"lock", "get", name})["shard"], to);
  ctl.json({"lock", "check", name, "--token", held["token"]});
  ctl.json({"lock", "release", name, "--token", held["token"], "--session", held["session"]});
  ctl.json({"lock", "move", name, "--to-shard", std::to_string((home(name) + 5) % kShards)});
  ctl.json({"lock", "move", name, "--to-shard", std::to_string(home(name))});
  EXPECT_EQ(ctl.json({"lock", "move", name, "--to-shard", "99"}, 2)["error"]["code"], "GC1112");
  ctl.json({"lock", "acquire", "noted", "--note", "x", "--ttl", "60s"});
  const std::string other = std::to_string((home("noted") + 1) % kShards);
  EXPECT_EQ(ctl.json({"lock", "move", "noted", "--to-shard", other}, 6)["error"]["code"], "GC6053");
}

}  // namespace
}  // namespace gcoord::cli
