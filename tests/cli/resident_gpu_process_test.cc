// gcoordd --turn resident with all three nodes on GPUs: on a GPU each where there are three, else
// they share those there are. They map each other's memory; one is killed, one stopped while its
// kernel turns, one has its device fail at work. The fault at work happens to a twin as well, and
// what is chosen where nobody names a device is told where there is no GPU, too.
#include "consensus/device/stepper_cuda.h"
#include "tests/cli/resident_cluster.h"

#include <gmock/gmock.h>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::vector<std::string>> on_gpus() {
  const std::uint32_t count = std::max(1u, consensus::cuda_device_count());
  std::vector<std::vector<std::string>> flags;
  for (std::uint32_t node = 0; node < 3; ++node) {
    flags.push_back({"--device", "cuda:" + std::to_string(node % count)});
  }
  return flags;
}

class ResidentGpuTest : public ResidentProcessTest {
 protected:
  ResidentGpuTest() : ResidentProcessTest({.of_node = on_gpus(), .starts = false}) {}

  void SetUp() override {
    if (consensus::cuda_device_count() == 0) {
      GTEST_SKIP() << "skipped: no CUDA device here";
    }
    start();
  }
};

TEST_F(ResidentGpuTest, NodesMapEachOthersMemoryServeLocksAndLeaveWhenToldTo) {
  EXPECT_EQ(verdict("a", acquire("a"))["verdict"], "VALID");
  acquire(std::string(1024, 'n'));
  for (int i = 0; i < 32; ++i) {
    acquire("lock" + std::to_string(i));
  }
  EXPECT_EQ(ctl_->json({"lock", "ls"})["locks"].size(), 34u);
  for (std::uint32_t node = 1; node <= 3; ++node) {
    EXPECT_THAT(link(node, node % 3 + 1), StartsWith("nvlink: "));
  }
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

TEST_F(ResidentGpuTest, ANodeThatWasKilledIsTakenBackAndCounts) {
  kill_each_in_turn();
}

// Its kernel turns on while its host stands still, and nobody hangs.
TEST_F(ResidentGpuTest, ANodeWhoseHostWasStoppedAndResumedServesAgain) {
  stop_and_resume();
}

// Each is in the logs of the devices, whose states are compared with their hosts' after every
// command that follows.
TEST_F(ResidentGpuTest, RecordsOfServicesPassTheDevicesBy) {
  EXPECT_EQ(ctl_->json({"--timeout", "30s", "member", "watch", "--count", "1"})["view"], "1");
  Finished added;
  do {  // Nodes tell each other what they have about once a second.
    added = (*ctl_)({"-o", "json", "--timeout", "30s", "role", "add", "ops", "read"});
  } while (added.error_code() == "GC6518");
  ASSERT_EQ(added.code, 0) << added.out << added.err;
  const std::string longest(1000, 'p');
  EXPECT_EQ(ctl_->json({"role", "grant", "ops", "write", "--prefix", longest})["epoch"], "2");
  for (int i = 0; i < 32; ++i) {
    acquire("lock" + std::to_string(i));
  }
  EXPECT_EQ(ctl_->json({"role", "list"})["roles"].size(), 1u);
  EXPECT_EQ(cluster_->stop_all(kPatience), 3u);
}

class ResidentAutoTest : public ResidentProcessTest {
 protected:
  ResidentAutoTest()
      : ResidentProcessTest(
            {.of_node = {{"--device", "auto"}, {"--device", "auto"}, {"--device", "twin"}}}) {}
};

TEST_F(ResidentAutoTest, TakesWhatThereIsAndSaysWhichAndWhy) {
  EXPECT_EQ(verdict("a", acquire("a"))["verdict"], "VALID");
  const bool gpu = consensus::cuda_device_count() != 0;
  const auto status = ctl_->json({"status"});
  for (const auto& node : status["nodes"]) {
    const bool chose = node["node"] != 3;
    EXPECT_EQ(node["stepper"], gpu && chose ? "cuda:0" : "cpu");
    EXPECT_THAT(
        std::string(node["stepper_reason"]),
        HasSubstr(!chose ? "--device twin was requested"
                  : gpu  ? "auto: the turn runs on cuda:0"
                         : "auto: the host emulation (twin) of the resident turn, because "));
  }
  EXPECT_THAT(file_text(cluster_->log_file(1)), HasSubstr("the turn is resident on "));
  EXPECT_THAT(file_text(cluster_->log_file(1)),
              testing::AnyOf(HasSubstr("auto: the turn runs on"),
                             HasSubstr("auto: the host emulation (twin)")));
}

// Of the device of node 3, one after the other; the numbers are those of calls that a node makes
// while it opens its device, as it joins, and at work.
class ResidentFaultTest : public ResidentProcessTest,
                          public testing::WithParamInterface<const char*> {
 protected:
  ResidentFaultTest() : ResidentProcessTest({.more = {"--device", GetParam()}, .starts = false}) {}

  void SetUp() override {
    if (std::string_view{GetParam()} != "twin" && consensus::cuda_device_count() == 0) {
      GTEST_SKIP() << "skipped: no CUDA device here";
    }
    start();
  }

  // Node 3 begins with a fault that is to come, works or tries to, and ends because of it; the
  // others go on, and it is taken back without it.
  void ends_by(const std::string& fault, const std::string& last_words) {
    const auto held = acquire(fault);
    cluster_->kill(3);
    cluster_->set_environment_once(3, {{"GCOORD_DEVICE_FAULT", fault}});
    ASSERT_TRUE(cluster_->spawn(3).ok());
    static constexpr std::chrono::milliseconds kLook{10};
    std::optional<int> code;
    std::uint32_t locks = 0;
    wait_for([&] {
      acquire(fault + "/" + std::to_string(++locks));
      code = cluster_->wait_exit(3, kLook);
      return code.has_value();
    });
    EXPECT_EQ(code, 1) << fault;
    EXPECT_THAT(file_text(cluster_->log_file(3)), HasSubstr(last_words)) << fault;
    cluster_->kill(3);  // What is left of it.
    restart(3);
    wait_until_whole();
    EXPECT_EQ(verdict(fault, held)["verdict"], "VALID");
  }
};

TEST_P(ResidentFaultTest, ANodeWhoseDeviceFailsEndsAndNothingIsLost) {
  for (const char* call : {"3", "40", "400"}) {
    ends_by(std::string("call:") + call, std::string("injected at call ") + call + ")");
  }
}

TEST_P(ResidentFaultTest, ANodeWhoseKernelHangsEndsAndNothingIsLost) {
  if (std::string_view{GetParam()} == "twin") {
    GTEST_SKIP() << "skipped: the twin launches nothing that hangs";
  }
  ends_by("hang:1", "GC7102");
}

INSTANTIATE_TEST_SUITE_P(Devices, ResidentFaultTest, testing::Values("twin", "cuda:0"));

}  // namespace
}  // namespace gcoord::cli
