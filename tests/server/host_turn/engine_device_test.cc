// Engines whose shards live on a device: the same answers, and a full stop when the device fails.
//
// The device is the stand-in of consensus/device/stand_in_device.h, so this runs everywhere; with
// CUDA and a GPU the same faults are injected into real calls.
#include "common/device/device_errors.h"
#include "consensus/device/device_stepper.h"
#include "consensus/device/stand_in_device.h"
#include "consensus/device/stepper_cuda.h"
#include "server/platform/boot_time.h"
#include "tests/server/host_turn/engine_cluster.h"

#include <set>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kNodes = 3;
constexpr std::uint32_t kShards = 4;

using consensus::Stepper;
using StepperMaker =
    std::function<Result<std::unique_ptr<Stepper>>(std::uint32_t, std::uint32_t, DeviceFaultPlan)>;

Result<std::unique_ptr<Stepper>> over_stand_in(std::uint32_t row_count,
                                               std::uint32_t slot_count,
                                               DeviceFaultPlan plan) {
  return consensus::make_device_stepper(std::make_unique<consensus::StandInDevice>(plan),
                                        {.row_count = row_count, .slot_count = slot_count});
}

Result<std::unique_ptr<Stepper>> over_cuda(std::uint32_t row_count,
                                           std::uint32_t slot_count,
                                           DeviceFaultPlan plan) {
  return consensus::make_cuda_stepper({.device = 0,
                                       .row_count = row_count,
                                       .slot_count = slot_count,
                                       .wait_limit_ms = 200,
                                       .clock_us = [] { return boot_time_us(); },
                                       .fault = plan});
}

// A cluster at work whose node 1 has a device that fails as planned.
class DeviceCluster {
 public:
  DeviceCluster(StepperMaker make, DeviceFaultPlan plan) : make_(std::move(make)) {
    cluster.tune = [this](ReplicaOptions& options) {
      const DeviceFaultPlan planned = options.node == NodeId{1} ? plan_ : DeviceFaultPlan{};
      options.make_stepper = [this, planned](std::uint32_t rows, std::uint32_t slots) {
        return make_(rows, slots, planned);
      };
    };
    plan_ = plan;
  }

  // Node 1 stands still by its own failure.
  bool stopped() { return !cluster.node(1).engine || !cluster.engine(1).failure().ok(); }

  // Work until node 1 stops, or for some rounds. Whatever was decided is remembered.
  void work(int rounds) {
    for (int round = 0; round < rounds && !stopped(); ++round) {
      for (std::uint32_t shard = 0; shard < kShards; ++shard) {
        const std::uint32_t leader = cluster.leader_of(shard);
        if (leader != 0 && cluster.engine(leader).failure().ok()) {
          const std::string command =
              "shard " + std::to_string(shard) + " #" + std::to_string(round);
          asked_[cluster.propose(leader, shard, command)] = {leader, shard, command};
        }
      }
      cluster.settle();
      cluster.advance_ms(10);
    }
    for (const auto& [cookie, asked] : asked_) {
      if (cluster.node(asked.node).engine && cluster.decided(asked.node, cookie)) {
        decided_.push_back(asked);
      }
    }
  }

  // After the failed node was started again on a device in order: everybody agrees, and everything
  // that was decided is there once.
  void expect_intact(const std::string& what) {
    cluster.stop(1);
    plan_ = DeviceFaultPlan{};
    cluster.start(1);
    cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
    for (const Asked& each : decided_) {
      const auto& commands = cluster.service(1).commands(ShardId{each.shard});
      EXPECT_EQ(std::count(commands.begin(), commands.end(), each.command), 1)
          << what << ": " << each.command;
    }
  }

  std::size_t decided_count() const { return decided_.size(); }

  EngineCluster cluster{kNodes, kShards};

 private:
  struct Asked {
    std::uint32_t node = 0;
    std::uint32_t shard = 0;
    std::string command;
  };

  StepperMaker make_;
  DeviceFaultPlan plan_;
  std::map<std::uint64_t, Asked> asked_;
  std::vector<Asked> decided_;
};

void expect_full_stop(const StepperMaker& make, DeviceFaultPlan plan, const std::string& what) {
  DeviceCluster node(make, plan);
  const Status opened = node.cluster.try_start(1);
  if (!opened.ok()) {
    // The fault met the opening: a refusal, and nothing was promised.
    EXPECT_TRUE(is_device_fault(opened.detail())) << what << ": " << opened.to_string();
    return;
  }
  node.cluster.start(2);
  node.cluster.start(3);
  for (int k = 0; k < 200 && !node.stopped() && !node.cluster.all_led(); ++k) {
    node.cluster.settle();
    node.cluster.advance_ms(10);
  }
  node.work(40);
  ASSERT_TRUE(node.stopped()) << what;
  const Status failure = node.cluster.engine(1).failure();
  EXPECT_TRUE(is_device_fault(failure.detail())) << what << ": " << failure.to_string();
  // Nothing more leaves it: neither applied, nor persisted, nor heard by the others.
  const NodeView before = node.cluster.engine(1).view();
  const std::size_t decided = node.cluster.service(1).decided.size();
  node.cluster.run_ms(300);
  EXPECT_EQ(node.cluster.engine(1).view().submitted_lsn, before.submitted_lsn) << what;
  EXPECT_EQ(node.cluster.service(1).decided.size(), decided) << what;
  EXPECT_EQ(node.cluster.engine(1).turn(), 0u) << what;
  node.expect_intact(what);
}

TEST(EngineDevice, AClusterOnDevicesDecidesAsOneOnTheCpuDoes) {
  DeviceCluster node(over_stand_in, {});
  node.cluster.start_all();
  node.cluster.run_until([&] { return node.cluster.all_led(); });
  node.work(20);
  EXPECT_GE(node.decided_count(), 70u);
  EXPECT_EQ(node.cluster.engine(1).view().stepper.name, "twin");
  EXPECT_GT(node.cluster.count(1, "gcoord_server_device_launches_total"), 20u);
  EXPECT_GT(node.cluster.gauge(1, "gcoord_server_device_memory_bytes"), 0);
  EXPECT_EQ(node.cluster.count(1, "gcoord_server_device_errors_total"), 0u);
  node.expect_intact("no fault");
}

TEST(EngineDevice, AFaultAtAnyCallIsAFullStopAndLosesNothing) {
  for (std::uint64_t number = 1; number <= 50; ++number) {
    expect_full_stop(
        over_stand_in, {DeviceFaultPlan::Kind::Call, number}, "call:" + std::to_string(number));
  }
}

TEST(EngineDevice, AnOverrunIsAFullStopAndLosesNothing) {
  for (const std::uint64_t number : {1u, 2u, 5u, 17u}) {
    expect_full_stop(
        over_stand_in, {DeviceFaultPlan::Kind::Hang, number}, "hang:" + std::to_string(number));
  }
}

TEST(EngineDevice, AFlippedBitIsAFullStopAndLosesNothing) {
  for (std::uint64_t number = 1; number <= 15; ++number) {
    expect_full_stop(
        over_stand_in, {DeviceFaultPlan::Kind::Flip, number}, "flip:" + std::to_string(number));
  }
}

// No row is stepped any more, and yet it is found.
TEST(EngineDevice, AFlippedBitIsFoundInANodeAtRest) {
  consensus::StandInDevice* device = nullptr;
  DeviceCluster node(
      [&](std::uint32_t rows, std::uint32_t slots, DeviceFaultPlan plan) {
        auto made = std::make_unique<consensus::StandInDevice>(plan);
        device = device == nullptr ? made.get() : device;  // Of node 1, which starts first.
        return consensus::make_device_stepper(std::move(made),
                                              {.row_count = rows, .slot_count = slots});
      },
      {});
  node.cluster.start_all();
  node.cluster.run_until([&] { return node.cluster.all_led() && node.cluster.all_agreed(); });
  node.cluster.run_ms(3000);
  device->flip_now(11);
  const std::uint64_t steps = node.cluster.count(1, "gcoord_server_steps_total");
  node.cluster.run_ms(500);
  const Status failure = node.cluster.engine(1).failure();
  EXPECT_EQ(failure.detail(), kDeviceDiffers) << failure.to_string();
  EXPECT_EQ(node.cluster.count(1, "gcoord_server_steps_total"), steps)
      << "a look found it, not a step";
  EXPECT_NE(failure.to_string().find("(GC7104)"), std::string::npos) << failure.to_string();
  EXPECT_EQ(node.cluster.count(1, "gcoord_server_device_errors_total"), 1u);
  node.expect_intact("a flip at rest");
}

TEST(EngineDevice, StepsAreDoneAgainAndRowsLookedAt) {
  DeviceCluster node(over_stand_in, {});
  node.cluster.start_all();
  node.cluster.run_until([&] { return node.cluster.all_led(); });
  node.work(20);
  EXPECT_GT(node.cluster.count(1, "gcoord_server_device_rows_swept_total"), kShards * 10u);
  const consensus::StepperReport report = node.cluster.engine(1).view().stepper;
  EXPECT_EQ(node.cluster.count(1, "gcoord_server_device_steps_checked_total"),
            report.steps_checked);
  EXPECT_GT(report.steps_checked, 0u);
  EXPECT_EQ(report.sweep_looks, 1u);
}

TEST(EngineDevice, TheFailureSaysWhatItMeansAndWhatToDo) {
  DeviceCluster node(over_stand_in, {DeviceFaultPlan::Kind::Call, 6});
  node.cluster.start_all();
  node.cluster.run_ms(500);
  const Status failure = node.cluster.engine(1).failure();
  EXPECT_EQ(failure.to_string(),
            "INTERNAL: the device failed, and no request of the current turn was acknowledged "
            "(a batch of steps: injected at call 6). Check the device with nvidia-smi and start "
            "the node again; it rebuilds its state from its log. (GC7101)");
  EXPECT_EQ(node.cluster.count(1, "gcoord_server_device_errors_total"), 1u);
}

TEST(EngineOnGpu, AFaultAtAnyCallIsAFullStopAndLosesNothing) {
  if (consensus::cuda_device_count() == 0) {
    GTEST_SKIP() << "skipped: no CUDA device here";
  }
  for (std::uint64_t number = 1; number <= 50; ++number) {
    expect_full_stop(
        over_cuda, {DeviceFaultPlan::Kind::Call, number}, "call:" + std::to_string(number));
  }
}

TEST(EngineOnGpu, AFlippedBitIsAFullStopAndLosesNothing) {
  if (consensus::cuda_device_count() == 0) {
    GTEST_SKIP() << "skipped: no CUDA device here";
  }
  for (std::uint64_t number = 1; number <= 20; ++number) {
    expect_full_stop(
        over_cuda, {DeviceFaultPlan::Kind::Flip, number}, "flip:" + std::to_string(number));
  }
}

TEST(EngineOnGpu, AKernelThatOverrunsIsAFullStopAndLosesNothing) {
  if (consensus::cuda_device_count() == 0) {
    GTEST_SKIP() << "skipped: no CUDA device here";
  }
  for (const std::uint64_t number : {1u, 4u}) {
    expect_full_stop(
        over_cuda, {DeviceFaultPlan::Kind::Hang, number}, "hang:" + std::to_string(number));
  }
}

}  // namespace
}  // namespace gcoord::server
