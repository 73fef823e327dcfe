// Nodes whose GPU fails, by a library that only looks like NVML (tests/server/gpu/fake_nvml.cc):
// what --gpu-policy says happens, and nothing else.
#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/acceptance/both_turns.h"
#include "tests/cli/programs.h"
#include "tests/notify_socket.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class GpuHealthTurnTest : public testing::TestWithParam<std::string> {
 protected:
  void start(const std::string& policy) {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.shards = 16;
    options.node_arguments = {"--turn",
                              GetParam(),
                              "--device",
                              "twin",
                              "--gpu-policy",
                              policy,
                              "--gpu-quiet",
                              "1s",
                              "--election-ms",
                              "500",
                              "--heartbeat-ms",
                              "50"};
    for (const std::uint32_t node : {1u, 2u, 3u}) {
      options.environment_of_node.push_back({{"GCOORD_NVML", GCOORD_FAKE_NVML},
                                             {"GCOORD_FAKE_NVML", words(node)},
                                             {"NOTIFY_SOCKET", notices(node)}});
    }
    auto planned = chaos::LocalCluster::plan(options);
    ASSERT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
    ASSERT_TRUE(cluster_->start_all(kPatience).ok());
    ASSERT_TRUE(await([&] { return status(1)["gpu"]["reading"].is_object(); }));
  }

  std::string words(std::uint32_t node) const {
    return directory_.path("words-" + std::to_string(node));
  }

  // Where the node's notices to systemd go.
  std::string notices(std::uint32_t node) const {
    return directory_.path("notices-" + std::to_string(node));
  }

  // What the library says of the node's GPU from now on; whole at once.
  void say(std::uint32_t node, const std::string& text) const {
    const std::string beside = words(node) + ".new";
    std::ofstream(beside) << text;
    std::filesystem::rename(beside, words(node));
  }

  Ctl ctl() const { return Ctl{comma_list(cluster_->endpoints())}; }

  // The report of a node; one that does not answer has little in it.
  nlohmann::json status(std::uint32_t node) const {
    const Finished finished = ctl()({"-o", "json", "status"});
    const nlohmann::json all = finished.json();
    return all.contains("nodes") ? all["nodes"][node - 1] : nlohmann::json::object();
  }

  std::string log_of(std::uint32_t node) const { return file_text(cluster_->log_file(node)); }

  static bool await(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) {
        return false;
      }
    }
    return true;
  }

  const ScratchFolder directory_;
  std::optional<chaos::LocalCluster> cluster_;
};

INSTANTIATE_TEST_SUITE_P(BothTurns, GpuHealthTurnTest, both_turns(), turn_name);

TEST_P(GpuHealthTurnTest, ANodeThatDrainsLeadsNothingUntilTheFaultIsOver) {
  start("thermal=drain");
  ASSERT_TRUE(await([&] { return status(1)["leaders"] > 0; }));
  say(1, "throttle 64\nprocesses 3\n");
  ASSERT_TRUE(await([&] {
    auto node = status(1);
    return node["leaders"] == 0 && node["gpu"]["draining"] == true;
  })) << status(1).dump();
  auto node = status(1);
  EXPECT_EQ(node["gpu"]["conditions"][0]["fault"], "thermal") << node.dump();
  EXPECT_EQ(node["gpu"]["conditions"][0]["action"], "drain");
  EXPECT_EQ(node["gpu"]["decisions"]["drain"], "1");
  EXPECT_EQ(node["gpu"]["reading"]["uuid"], "GPU-first");
  EXPECT_EQ(node["gpu"]["shared"], true);
  EXPECT_THAT(log_of(1), HasSubstr("GC6727 "));
  EXPECT_THAT(log_of(1), HasSubstr("GC6729 "));
  const std::string shown = ctl()({"status"}).out;
  EXPECT_THAT(shown, HasSubstr("node 1: WARNING: its GPU: thermal: "));
  EXPECT_THAT(shown, HasSubstr("node 1: WARNING: its GPU: other processes"));
  EXPECT_EQ(status(2)["gpu"]["draining"], false);
  EXPECT_EQ(ctl().json({"health"})["ready"], true) << "a warning, and no more";
  say(1, "");
  ASSERT_TRUE(await([&] {
    auto after = status(1);
    return after["gpu"]["draining"] == false && after["leaders"] > 0;
  })) << status(1).dump();
  EXPECT_THAT(log_of(1), HasSubstr("thermal of GPU-first is over"));
}

TEST_P(GpuHealthTurnTest, AFatalXidStopsTheNodeAndTheOthersLeadAll) {
  start("xid-fatal=stop");
  say(2, "xid 79\n");
  EXPECT_EQ(cluster_->wait_exit(2, kPatience), 1);
  EXPECT_THAT(log_of(2), HasSubstr("GC6725"));
  EXPECT_THAT(log_of(2), HasSubstr("Xid 79"));
  const Ctl others(cluster_->endpoints()[0] + "," + cluster_->endpoints()[2]);
  ASSERT_TRUE(await([&] {
    auto all = others({"-o", "json", "status"}).json();
    std::uint64_t led = 0;
    for (const auto& node : all["nodes"]) {
      led += node.value("leaders", 0u);
    }
    return led == 16;
  }));
}

TEST_P(GpuHealthTurnTest, AGpuThatIsLostStopsTheNodeByDefault) {
  start("thermal=log");
  say(2, "lost 1\n");
  EXPECT_EQ(cluster_->wait_exit(2, kPatience), 1);
  EXPECT_THAT(log_of(2), HasSubstr("GC6725"));
  EXPECT_THAT(log_of(2), HasSubstr("lost"));
}

TEST_P(GpuHealthTurnTest, WrongMemoryOpensTheContextAnewInTheSameProcess) {
  NotifySocket systemd(notices(3));
  start("ecc-uncorrected=restart-context");
  EXPECT_THAT(systemd.next_with("READY=1"), HasSubstr("READY=1"));
  const auto before = status(3);
  const pid_t pid = cluster_->pid(3);
  say(3, "xid 48\n");
  ASSERT_TRUE(await([&] {
    auto node = status(3);
    return node.value("incarnation", 0u) > before["incarnation"] &&
           node.value("reachable", false) && node["health"]["ready"] == true;
  })) << status(3).dump();
  EXPECT_TRUE(cluster_->running(3));
  EXPECT_EQ(cluster_->pid(3), pid);
  EXPECT_THAT(log_of(3), HasSubstr("GC6726"));
  EXPECT_EQ(status(3)["gpu"]["conditions"].size(), 0u) << "it begins anew";
  // systemd ends a unit that says that it stops and does not.
  const auto notice_of = [&](const std::string& text) {
    std::string notice = systemd.next();
    while (!notice.empty() && notice.find(text) == std::string::npos) {
      EXPECT_THAT(notice, Not(HasSubstr("STOPPING=1")));
      notice = systemd.next();
    }
    return notice;
  };
  EXPECT_THAT(notice_of("opens anew"), Not(HasSubstr("STOPPING=1")));
  EXPECT_THAT(notice_of("READY=1"), HasSubstr("READY=1"));
}

TEST_P(GpuHealthTurnTest, AFaultThatIsIgnoredOrLoggedChangesNothing) {
  start("xid-fatal=log,link-error=ignore");
  say(1, "xid 79\nxid 74\n");
  ASSERT_TRUE(await([&] {
    auto decided = status(1)["gpu"]["decisions"];
    return decided["log"] == "1" && decided["ignore"] == "1";
  }));
  EXPECT_THAT(log_of(1), HasSubstr("GC6728 "));
  EXPECT_TRUE(cluster_->running(1));
  EXPECT_EQ(status(1)["gpu"]["draining"], false);
}

TEST(GpuOptions, APolicyThatIsNoneIsRefusedAtTheStart) {
  const Finished refused =
      run("gcoordd", {"dev", "--check-config", "--gpu-policy", "hung=restart-context"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("GC1001"));
  EXPECT_EQ(run("gcoordd", {"dev", "--check-config", "--gpu-policy", "thermal=drain"}).code, 0);
}

}  // namespace
}  // namespace gcoord::cli
