// Reads of three nodes of --turn resident as processes: under the lease and by rounds, without an
// entry in any log; of every freshness, and of the past; and a leader that was stopped past its
// lease, which shows nothing old.
#include "tests/cli/gcoordd/metric_sum.h"
#include "tests/cli/resident_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr const char* kByLease = "gcoord_server_resident_reads_total{way=\"lease\"}";
constexpr const char* kByRound = "gcoord_server_resident_reads_total{way=\"round\"}";

class ResidentReadsTest : public ResidentProcessTest,
                          public testing::WithParamInterface<const char*> {
 protected:
  ResidentReadsTest() : ResidentProcessTest({.durability = GetParam()}) {}

  nlohmann::json read(const std::string& name, const std::string& consistency) {
    return ctl_->json({"--timeout", "30s", "lock", "get", name, "--consistency", consistency});
  }

  void release(const std::string& name, const nlohmann::json& held) {
    ctl_->json({"--timeout",
                "30s",
                "lock",
                "release",
                name,
                "--session",
                held["session"],
                "--token",
                held["token"]});
  }

  // The node that leads the lock's shard, as the nodes say that answer.
  std::uint32_t leader_of(const std::string& name) {
    const std::string shard = read(name, "lease")["shard"].dump();
    const auto shown = (*ctl_)({"-o", "json", "shard", "show", shard}).json();
    for (const auto& replica : shown.value("replicas", nlohmann::json::array())) {
      if (replica.value("role", "") == "leader") {
        return replica["node"].get<std::uint32_t>();
      }
    }
    return 0;
  }
};

INSTANTIATE_TEST_SUITE_P(Each, ResidentReadsTest, testing::Values("memory", "durable"));

TEST_P(ResidentReadsTest, R1R2ReadsWriteNoEntry) {
  const auto grant = acquire("a");
  const std::string first = read("a", "lease")["index"];
  std::string last;
  constexpr std::uint64_t kReads = 20;
  for (std::uint64_t k = 0; k < kReads; ++k) {
    const auto again = read("a", k % 2 == 0 ? "lease" : "linearizable");
    EXPECT_EQ(again["token"], grant["token"]);
    last = again["index"];
  }
  EXPECT_EQ(verdict("a", grant)["verdict"], "VALID");
  // Leadership may move meanwhile, and each term begins with an entry.
  EXPECT_LT(std::stoull(last) - std::stoull(first), kReads / 2);
  EXPECT_GE(metric_sum(*cluster_, kByRound), 5u);
  // A lease is believed once the two clocks have been compared for an election's time.
  wait_for([&] {
    read("a", "lease");
    return metric_sum(*cluster_, kByLease) >= 1;
  });
  EXPECT_EQ(ctl_->json({"lock", "ls"})["locks"].size(), 1u);
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

TEST_P(ResidentReadsTest, R3R4R5EveryReplicaSaysHowOldItIs) {
  const auto grant = acquire("a");
  const std::string after = grant["after"];
  for (const std::string node : {"1", "2", "3"}) {
    EXPECT_EQ(ctl_->json({"lock", "get", "a", "--after", after, "--node", node})["token"],
              grant["token"]);
    const auto bounded = ctl_->json({"lock", "get", "a", "--max-staleness", "20s", "--node", node});
    EXPECT_EQ(bounded["token"], grant["token"]);
    EXPECT_LE(bounded["age_ms"].get<int>(), 20'000);
    // Whoever reads what says nothing of its age has it asked, a leader of itself, for who comes
    // next.
    wait_for([&] {
      return ctl_
          ->json({"lock", "get", "a", "--consistency", "serializable", "--node", node})["age_ms"]
          .is_number();
    });
  }
}

TEST_P(ResidentReadsTest, R6EveryReplicaShowsTheSamePast) {
  const std::string name(300, 'n');  // In pieces.
  const auto first = acquire(name);
  const std::string at_first = read(name, "lease")["acquired_index"];
  release(name, first);
  const auto second = acquire(name);
  const std::string after = second["after"];
  const std::string between = read(name, "lease")["acquired_index"];
  for (const std::string node : {"1", "2", "3"}) {
    ctl_->json({"lock", "get", name, "--after", after, "--node", node});  // It has come that far.
    const auto past = ctl_->json({"lock", "get", name, "--at-index", at_first, "--node", node});
    EXPECT_EQ(past["token"], first["token"]) << node;
    const std::string before = std::to_string(std::stoull(between) - 1);
    EXPECT_EQ(ctl_->json({"lock", "get", name, "--at-index", before, "--node", node}, 1)["held"],
              false);
  }
  EXPECT_EQ(ctl_->json({"lock", "get", name, "--at-index", "1000000"}, 1)["error"]["code"],
            "GC6321");
}

// It is stopped for longer than anybody trusts it. Reads that came to it after others had decided
// more wait in its sockets, and are the first thing that it does when it goes on.
TEST_P(ResidentReadsTest, R2AStoppedLeaderShowsNothingOldWhenItGoesOn) {
  const auto first = acquire("a");
  const std::uint32_t stopped = leader_of("a");
  ASSERT_NE(stopped, 0u);
  const Ctl alone(cluster_->endpoints()[stopped - 1]);
  EXPECT_EQ(alone.json({"lock", "check", "a", "--token", first["token"]})["verdict"], "VALID");
  cluster_->signal(stopped, SIGSTOP);
  release("a", first);
  const auto second = acquire("a");
  EXPECT_NE(second["token"], first["token"]);
  std::vector<ChildProcess> reads;
  for (int k = 0; k < 6; ++k) {
    const std::string how = k % 2 == 0 ? "lease" : "linearizable";
    reads.push_back(
        alone.start({"--timeout", "20s", "-o", "json", "lock", "get", "a", "--consistency", how}));
  }
  cluster_->signal(stopped, SIGCONT);
  for (ChildProcess& each : reads) {
    const auto said = nlohmann::json::parse(each.read_all(kPatience), nullptr, false);
    static_cast<void>(each.wait_for(kPatience));
    EXPECT_NE(said.value("token", nlohmann::json{}), first["token"]) << said.dump();
  }
  EXPECT_EQ(verdict("a", first, 1)["verdict"], "STALE");
  EXPECT_EQ(verdict("a", second)["verdict"], "VALID");
}

}  // namespace
}  // namespace gcoord::cli
