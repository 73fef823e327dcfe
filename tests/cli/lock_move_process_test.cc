// L19 with real nodes of both turns: a held lock with 100 waiters moves while clients look on and
// nodes are killed.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/process_cluster.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr std::uint32_t kShards = 8;
constexpr std::size_t kClients = 4;
constexpr std::size_t kWaiters = 100;

class LockMoveProcessTest : public ProcessCluster, public testing::WithParamInterface<std::string> {
 protected:
  struct Waiting {
    client::Session session;
    client::Future<client::Result<client::Lock>> granted;
  };

  LockMoveProcessTest() : ProcessCluster(kShards, turn_of_all(GetParam())) {}

  void SetUp() override {
    ProcessCluster::SetUp();
    for (std::size_t i = 0; i < kClients + 1 && !HasFatalFailure(); ++i) {
      clients_.push_back(connect(i + 1));
    }
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

  std::vector<client::Client> clients_;
  std::vector<Waiting> waiting_;
  std::vector<std::uint64_t> expected_;
};

INSTANTIATE_TEST_SUITE_P(BothTurns, LockMoveProcessTest, both_turns(), turn_name);

TEST_P(LockMoveProcessTest, L19AHeldLockWith100WaitersMovesAndEachIsToldOnce) {
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

TEST_P(LockMoveProcessTest, L19AMoveOutlivesTheNodesThatBeganIt) {
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
    // A node that has not heard of this one since its own start moves nothing before it is back.
    spawn(node);
    mover.join();
    at = to;
    EXPECT_EQ(operator_client().get(name, false).value().shard, at);
    EXPECT_EQ(queue(name), expected_);
  }
  expect_passes_on(held.value());
}

TEST_P(LockMoveProcessTest, L19TheVerbSaysWhatItDidAndWhyNot) {
  const Ctl nodes = ctl();
  const std::string name = "a";
  const std::uint32_t to = (home(name) + 3) % kShards;
  const auto held = nodes.json({"lock", "acquire", name, "--ttl", "60s"});
  const auto moved = nodes.json({"lock", "move", name, "--to-shard", std::to_string(to)});
  EXPECT_EQ(moved["shard"], to);
  EXPECT_EQ(nodes.json({"lock", "get", name})["shard"], to);
  nodes.json({"lock", "check", name, "--token", held["token"]});
  nodes.json({"lock", "release", name, "--token", held["token"], "--session", held["session"]});
  nodes.json({"lock", "move", name, "--to-shard", std::to_string((home(name) + 5) % kShards)});
  nodes.json({"lock", "move", name, "--to-shard", std::to_string(home(name))});
  EXPECT_EQ(nodes.json({"lock", "move", name, "--to-shard", "99"}, 2)["error"]["code"], "GC1112");
  nodes.json({"lock", "acquire", "noted", "--note", "x", "--ttl", "60s"});
  const std::string other = std::to_string((home("noted") + 1) % kShards);
  EXPECT_EQ(nodes.json({"lock", "move", "noted", "--to-shard", other}, 6)["error"]["code"],
            "GC6053");
}

// The sum of a count over all shards, as one node that has them all says it in two ways.
std::uint64_t counted(const Ctl& ctl, const std::string& what) {
  std::uint64_t sum = 0;
  for (std::uint32_t shard = 0; shard < 16; ++shard) {
    const auto shown = ctl.json({"shard", "show", std::to_string(shard)});
    sum += shown["replicas"][0][what].get<std::uint64_t>();
  }
  const auto node = ctl.json({"status"})["nodes"][0];
  EXPECT_EQ(node[what].get<std::uint64_t>(), sum);
  return sum;
}

// The records of moved names stand for ever; nobody holds them.
TEST(LockMoveCounts, L19WhatNobodyHoldsIsNotCounted) {
  DevNode node;
  const Ctl ctl = node.ctl();
  const auto held = ctl.json({"lock", "acquire", "a", "--ttl", "60s"});
  for (const std::string to : {"3", "4", "5"}) {
    ctl.json({"lock", "move", "a", "--to-shard", to});
  }
  EXPECT_EQ(counted(ctl, "locks"), 1u);
  ctl.json({"lock", "break", "a", "--reason", "it hangs"});
  EXPECT_EQ(counted(ctl, "locks"), 0u) << "the session lives, and has lost it";
  ctl.json({"session", "close", held["session"]});
  EXPECT_EQ(counted(ctl, "locks"), 0u);
  EXPECT_EQ(counted(ctl, "sessions"), 0u);
  ctl.json({"lock", "acquire", "a", "--ttl", "60s"});
  EXPECT_EQ(counted(ctl, "locks"), 1u);
  ctl.json({"lock", "acquire", "b", "--ttl", "60s"});
  EXPECT_EQ(counted(ctl, "locks"), 2u);
}

}  // namespace
}  // namespace gcoord::cli
