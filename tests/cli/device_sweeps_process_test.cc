// gcoordd whose device looks at sessions and waits, as a process: by the twin of a device
// everywhere, and on a GPU where there is one.
#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>

#include <utility>

namespace gcoord::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// One node; what is small goes to the device, too.
class DeviceSweepsProcessTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    chaos::LocalClusterOptions options;
    options.program = chaos::program_beside("gcoordd");
    options.directory = directory_.path();
    options.node_count = 1;
    options.shards = 16;
    options.node_arguments = {
        "--device", GetParam(), "--election-ms", "500", "--heartbeat-ms", "50"};
    options.environment_of_node = {{{"GCOORD_DEVICE_SWEEPS", "always"}}};
    auto planned = chaos::LocalCluster::plan(options);
    ASSERT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
    const Status started = cluster_->start_all(kPatience);
    const std::string why = started.ok() ? "" : file_text(cluster_->log_file(1));
    if (why.find("GC700") != std::string::npos) {
      GTEST_SKIP() << "skipped: " << why;
    }
    ASSERT_TRUE(started.ok()) << started.to_string();
    ctl_.emplace(comma_list(cluster_->endpoints()));
  }

  json acquire(const std::string& name, const std::string& ttl) const {
    return ctl_->json({"--timeout", "30s", "lock", "acquire", name, "--ttl", ttl});
  }

  ChildProcess also(const json& held, const std::string& name) const {
    return ctl_->start(
        {"-o", "json", "lock", "acquire", name, "--ttl", "1h", "--session", held["session"]});
  }

  std::uint64_t looked(const char* of) const {
    const json status = ctl_->json({"status"});
    const json sweeps = status["nodes"][0]["device"]["sweeps"];
    EXPECT_EQ(sweeps["on_device"], true) << status.dump();
    return std::stoull(sweeps[of].get<std::string>());
  }

  const ScratchFolder directory_;
  std::optional<chaos::LocalCluster> cluster_;
  std::optional<Ctl> ctl_;
};

TEST_P(DeviceSweepsProcessTest, S9ASessionThatRanOutLosesItsLock) {
  acquire("a", "1s");
  acquire("a", "1h");  // Waits until the first one has run out.
  EXPECT_GT(looked("sessions"), 0u);
  EXPECT_THAT((*ctl_)({"status"}).out, HasSubstr("scanned all sessions"));
}

TEST_P(DeviceSweepsProcessTest, L18TwoSessionsThatWaitForEachOtherAreToldSo) {
  const json one = acquire("a", "1h");
  const json two = acquire("b", "1h");
  ChildProcess older = also(one, "b");
  json locks;
  do {
    locks = ctl_->json({"lock", "list", "--waiters", "b"})["locks"];
  } while (locks[0]["waiters"].empty());
  ChildProcess younger = also(two, "a");
  EXPECT_EQ(younger.wait_for(kPatience), 6);
  const json answer = json::parse(younger.read_all(kPatience), nullptr, false);
  EXPECT_EQ(answer["error"]["code"], "GC6040");
  EXPECT_GT(looked("waits"), 0u);
  ctl_->json({"lock", "release", "b", "--token", two["token"], "--session", two["session"]});
  EXPECT_EQ(older.wait_for(kPatience), 0);
}

TEST_P(DeviceSweepsProcessTest, AFaultStopsTheNodeAndNothingIsLost) {
  for (const auto& [fault, number] :
       {std::pair{"sweep-call:9", "GC7101"}, std::pair{"sweep-hang:2", "GC7102"}}) {
    const json held = acquire(fault, "1h");
    acquire(std::string("before/") + fault, "5s");  // Looked at when it runs out, and later again.
    EXPECT_EQ(cluster_->stop_all(kPatience), 1u);
    cluster_->set_environment_once(1, {{"GCOORD_DEVICE_FAULT", fault}});
    ASSERT_TRUE(cluster_->spawn(1).ok());
    EXPECT_EQ(cluster_->wait_exit(1, kPatience), 1) << fault;
    EXPECT_THAT(file_text(cluster_->log_file(1)), HasSubstr(number));
    cluster_->kill(1);
    ASSERT_TRUE(cluster_->spawn(1).ok());
    const Status ready = cluster_->wait_ready(1, kPatience);
    ASSERT_TRUE(ready.ok()) << ready.to_string();
    EXPECT_EQ(
        ctl_->json(
            {"--timeout", "30s", "lock", "check", fault, "--token", held["token"]})["verdict"],
        "VALID");
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceSweepsProcessTest, testing::Values("twin", "cuda:0"));

}  // namespace
}  // namespace gcoord::cli
