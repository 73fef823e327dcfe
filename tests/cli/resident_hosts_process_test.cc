// Three twins of gcoordd --turn resident that reach each other by proxy from hosts of their own
// (network namespaces), over links that lose packets: a host is cut off and comes back, a process
// is killed and another stopped, and a checker judges what clients were told meanwhile.
#include "tests/cli/network_hosts.h"
#include "tests/cli/resident_cluster.h"

#include <gmock/gmock.h>

#include <functional>

namespace gcoord::cli {
namespace {

using testing::StartsWith;

class ResidentHostsTest : public ResidentProcessTest {
 protected:
  explicit ResidentHostsTest(const std::string& durability = "memory")
      : ResidentProcessTest({.durability = durability,
                             .more = {"--resident-peers", "proxy", "--insecure"},
                             .hosts = addresses(),
                             .starts = false}),
        forgets_(durability == "memory") {}

  void SetUp() override {
    if (!hosts_.obstacle().empty()) {
      GTEST_SKIP() << "skipped: " << hosts_.obstacle();
    }
    for (std::uint32_t node = 1; node <= 3; ++node) {
      spawn(node);
    }
    for (std::uint32_t node = 1; node <= 3; ++node) {
      wait_ready(node);
    }
  }

  static std::vector<std::string> addresses() {
    std::vector<std::string> list;
    for (std::uint32_t host = 1; host <= 3; ++host) {
      list.push_back(NetworkHosts::address(host));
    }
    return list;
  }

  void spawn(std::uint32_t node) {
    const Status spawned = hosts_.on(node, [&] { return cluster_->spawn(node); });
    ASSERT_TRUE(spawned.ok()) << spawned.to_string();
  }

  void wait_ready(std::uint32_t node) {
    const Status ready = cluster_->wait_ready(node, kPatience);
    ASSERT_TRUE(ready.ok()) << ready.to_string();
  }

  // What happens while clients lock and unlock, all of which is kept.
  void under_load(const std::function<void()>& happens) {
    histories_.push_back((directory_.path() / std::to_string(histories_.size())).string());
    ChildProcess load = ctl_->start({"bench",
                                     "lock",
                                     "--clients",
                                     "6",
                                     "--names",
                                     "shared",
                                     "--seconds",
                                     "4",
                                     "--history",
                                     histories_.back()});
    happens();
    EXPECT_TRUE(load.wait_for(kPatience).has_value());
  }

  // The others serve without one, whatever became of it.
  void others_serve(const std::string& name) {
    for (int lock = 0; lock < 4; ++lock) {
      const std::string whole = name + std::to_string(lock);
      grants_.emplace_back(whole, acquire(whole, "600s"));
    }
  }

  // Every lock that was granted is held, and by nobody else.
  void expect_grants() {
    for (const auto& [name, grant] : grants_) {
      EXPECT_EQ(verdict(name, grant)["verdict"], "VALID") << name;
    }
  }

  void expect_histories() {
    std::vector<std::string> arguments = histories_;
    arguments.emplace_back("--json");
    const Finished checked = run("gcoord-check", arguments);
    EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  }

  void expect_proxies() {
    for (std::uint32_t node = 1; node <= 3; ++node) {
      for (std::uint32_t peer = 1; peer <= 3; ++peer) {
        if (peer != node) {
          wait_for([&] { return link(node, peer).find("proxy: ") == 0; });
        }
      }
    }
  }

  // All speak with each other again, and nobody lacks what it promised.
  void wait_until_well() {
    expect_proxies();
    if (forgets_) {
      wait_until_whole();
    }
  }

  // Loss, then each thing that can happen to a node of another host, in turn.
  void live_through_it() {
    std::string how;
    for (std::uint32_t host = 1; host <= 3; ++host) {
      how = hosts_.disturb(host);
    }
    RecordProperty("links", how);
    under_load([this] { others_serve("lossy"); });
    under_load([this] {
      hosts_.cut(3);
      others_serve("partition");
      hosts_.heal(3);
    });
    wait_until_well();
    under_load([this] {
      cluster_->kill(2);
      others_serve("killed");
      spawn(2);
      wait_ready(2);
    });
    wait_until_well();
    under_load([this] {
      cluster_->signal(1, SIGSTOP);
      others_serve("stopped");
      cluster_->signal(1, SIGCONT);
    });
    wait_until_well();
    expect_grants();
    expect_histories();
    EXPECT_EQ(hosts_.obstacle(), "");
    for (std::uint32_t node = 1; node <= 3; ++node) {
      EXPECT_TRUE(cluster_->running(node)) << node << ": " << file_text(cluster_->log_file(node));
    }
    std::uint64_t lost = 0;
    for (std::uint32_t host = 1; host <= 3; ++host) {
      lost += hosts_.lost(host);
    }
    EXPECT_TRUE(how == "nothing" || lost != 0) << "the links lost nothing";
    EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
  }

  const bool forgets_;  // Who ends forgets what it promised.
  NetworkHosts hosts_{3};
  std::vector<std::string> histories_;
  std::vector<std::pair<std::string, nlohmann::json>> grants_;
};

TEST_F(ResidentHostsTest, ThreeTwinsLiveThroughLossAPartitionAKillAndAStop) {
  live_through_it();
}

class ResidentDurableHostsTest : public ResidentHostsTest {
 protected:
  ResidentDurableHostsTest() : ResidentHostsTest("durable") {}
};

TEST_F(ResidentDurableHostsTest, ThreeTwinsLiveThroughLossAPartitionAKillAndAStop) {
  live_through_it();
}

// The node is alone for longer than its peers keep a silent link, and again before it is whole.
TEST_F(ResidentHostsTest, AHostThatIsCutOffAgainAndAgainComesBack) {
  others_serve("before");  // Nothing is decided before all have met.
  for (int round = 0; round < 3; ++round) {
    const std::uint32_t alone = 1 + static_cast<std::uint32_t>(round);
    hosts_.cut(alone);
    others_serve("round" + std::to_string(round) + "-");
    hosts_.heal(alone);
  }
  wait_until_well();
  expect_grants();
}

}  // namespace
}  // namespace gcoord::cli
