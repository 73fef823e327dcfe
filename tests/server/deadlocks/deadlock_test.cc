// Deadlocks among the sessions of several nodes (L18 of docs/reference/services.md): lock services
// over fake engines whose logs and messages move when the test says so.
#include "common/random.h"
#include "server/deadlocks/watch.h"
#include "tests/server/deadlocks/deadlock_cluster.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using Cluster = DeadlockCluster;

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
  const protocol::LockHold read{.flags = 2, .permits = 1, .name = a_};
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
  const protocol::LockHold read{.flags = 2, .permits = 1, .name = a_};
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
  const protocol::LockHold permit{.flags = 2, .permits = 1, .limit = 2, .name = a_};
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
