// What a host finds out about a device that it steps rows on: flipped bits before they are stepped,
// flipped bits of rows that rest, and steps that come out otherwise.
#include "consensus/device/device_check.h"

#include "consensus/device/device_stepper.h"
#include "consensus/device/stand_in_device.h"
#include "consensus/step/recover.h"
#include "tests/consensus/voters.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace gcoord::consensus {
namespace {

constexpr std::uint32_t kRows = 64;
constexpr std::uint32_t kSlots = 5;

// The stand-in, and whoever changes on the way back what it came to.
class LyingDevice final : public StepDevice {
 public:
  using Lie = std::function<void(const StepMemory&, const StepCall&)>;

  Result<StepMemory> allocate(const StepMemorySizes& sizes) override {
    GCOORD_TRY(memory_, device_.allocate(sizes));
    return memory_;
  }

  Result<PoolRegion> replace_pool(const PoolSizes& sizes) override {
    return device_.replace_pool(sizes);
  }

  Status upload(void* to, const void* from, std::size_t bytes) override {
    return device_.upload(to, from, bytes);
  }

  Status step(const StepCall& call) override {
    const Status stepped = device_.step(call);
    if (lie) {
      lie(memory_, call);
    }
    return stepped;
  }

  Status sweep(const SweepCall& call) override {
    const Status swept = device_.sweep(call);
    if (sweep_lie) {
      sweep_lie(memory_);
    }
    return swept;
  }

  void inject(DeviceFaultPlan plan) override { device_.inject(plan); }

  std::string name() const override { return device_.name(); }

  std::string product() const override { return device_.product(); }

  std::uint64_t launches() const override { return device_.launches(); }

  Lie lie;
  std::function<void(const StepMemory&)> sweep_lie;

 private:
  StandInDevice device_;
  StepMemory memory_;
};

struct Node {
  LyingDevice* device = nullptr;  // The stepper's.
  std::unique_ptr<Stepper> stepper;
  PeerLiveness peer{.node = NodeId{2}, .incarnation = Incarnation{1}, .credit = 8};
  std::vector<std::uint32_t> rows;
  std::vector<Inbox> in;
  std::vector<Outbox> out;
  std::uint64_t tick = 0;

  explicit Node(std::uint32_t voter_count,
                std::uint32_t check_one_in,
                std::uint32_t row_count = kRows)
      : in(row_count), out(row_count) {
    auto lying = std::make_unique<LyingDevice>();
    device = lying.get();
    auto made = make_device_stepper(
        std::move(lying),
        {.row_count = row_count, .slot_count = kSlots, .check_one_in = check_one_in});
    EXPECT_TRUE(made.ok());
    stepper = std::move(made).value();
    for (std::uint32_t row = 0; row < row_count; ++row) {
      recover(ShardRef(stepper->columns(), row),
              RecoveredShard{.configuration = voters(voter_count)},
              NodeId{1});
      rows.push_back(row);
      in[row].campaign = 1;
    }
  }

  Status step() {
    StepInput input;
    input.tick = Tick{++tick};
    input.self = NodeId{1};
    input.peer = &peer;
    input.peer_count = 1;
    return stepper->step(rows, in, out, input);
  }

  void flip_at_next_step(std::uint64_t launch) {
    // The number of the launch names the bit; launches before it step nothing.
    rows.clear();
    while (stepper->report().launches + 1 < launch) {
      ASSERT_TRUE(step_none().ok());
    }
    device->inject({DeviceFaultPlan::Kind::Flip, 1});
  }

  // One row at a time, over and over the same.
  Status step_none() {
    rows = {0};
    in[0].campaign = 0;
    return step();
  }
};

TEST(DeviceCheck, ARowThatChangedByItselfIsNotStepped) {
  for (const std::uint32_t voter_count : {1u, 3u, 4u, 5u}) {
    for (std::uint64_t launch = 2; launch <= 300; launch += 7) {
      Node node(voter_count, kDeviceCheckOneIn);
      ASSERT_TRUE(node.step().ok());
      const std::vector<std::uint32_t> all = node.rows;
      node.flip_at_next_step(launch);
      node.rows = all;
      const Status stepped = node.step();
      ASSERT_EQ(stepped.detail(), kDeviceDiffers) << voter_count << " voters, launch " << launch;
      EXPECT_NE(stepped.message().find("memory is corrupt"), std::string::npos);
      EXPECT_EQ(node.step().message(), stepped.message()) << "every later call fails as well";
    }
  }
}

TEST(DeviceCheck, AFlippedBitInARowAtRestIsFoundWithinTheStatedLooks) {
  constexpr std::uint32_t kManyRows = 3 * kSweepRows - 100;
  for (const std::uint32_t voter_count : {3u, 5u}) {
    std::set<std::string> told;
    for (std::uint64_t launch = 2; launch <= 6; ++launch) {
      Node node(voter_count, kDeviceCheckOneIn, kManyRows);
      ASSERT_TRUE(node.step().ok());
      node.flip_at_next_step(launch + 3);
      ASSERT_EQ(node.stepper->report().sweep_looks, 3u);
      Status seen = node.step_none();
      for (std::uint32_t look = 0; look < 3 && seen.ok(); ++look) {
        seen = node.stepper->look_over();
      }
      EXPECT_EQ(seen.detail(), kDeviceDiffers) << seen.to_string();
      told.insert(seen.message());
    }
    EXPECT_EQ(told.size(), 5u) << "another row or another bit each time";
  }
}

// What a sweep saw may have passed when the row is looked at: it must not be stepped for that.
TEST(DeviceCheck, ARowThatIsLookedAtIsNotStepped) {
  Node node(3, kDeviceCheckOneIn);
  ASSERT_TRUE(node.step().ok());
  RowForm form = RowForm::Packed;
  node.device->sweep_lie = [](const StepMemory& memory) {
    reinterpret_cast<std::uint64_t*>(memory.stepped_host)[9] ^= 1;
  };
  node.device->lie = [&form](const StepMemory& memory, const StepCall& call) {
    EXPECT_EQ(call.batch.rows[0].row, 9u);
    form = reinterpret_cast<const SteppedRow*>(memory.stepped_host)[0].form;
  };
  EXPECT_EQ(node.stepper->look_over().detail(), kDeviceDiffers);
  EXPECT_EQ(form, RowForm::Altered);
}

TEST(DeviceCheck, AWholeDeviceIsSweptAndFoundWhole) {
  Node node(3, kDeviceCheckOneIn);
  ASSERT_TRUE(node.stepper->look_over().ok()) << "nothing is there before the first step";
  EXPECT_EQ(node.stepper->report().rows_swept, 0u);
  for (int k = 0; k < 5; ++k) {
    ASSERT_TRUE(node.step().ok());
    ASSERT_TRUE(node.stepper->look_over().ok());
  }
  EXPECT_EQ(node.stepper->report().rows_swept, 5u * kRows);
}

TEST(DeviceCheck, TheRecordNamesShardColumnAndWord) {
  Node node(3, kDeviceCheckOneIn);
  ASSERT_TRUE(node.step().ok());
  node.device->lie = [](const StepMemory&, const StepCall& call) {
    // The device's own memory, after the step: the term of shard 9.
    call.table.packed[9].term ^= 1u << 4;
  };
  ASSERT_TRUE(node.step().ok());
  node.device->lie = nullptr;
  const Status stepped = node.step();
  EXPECT_EQ(stepped.detail(), kDeviceDiffers);
  const std::string& told = stepped.message();
  EXPECT_NE(told.find("shard 9: the device's memory is corrupt: column hot.term: "),
            std::string::npos)
      << told;
  EXPECT_NE(told.find("word 0 of its packed row is 0x"), std::string::npos) << told;
}

TEST(DeviceCheck, AStepThatCameOutOtherwiseIsFoundWhereEveryStepIsDoneAgain) {
  const std::vector<LyingDevice::Lie> lies = {
      [](const StepMemory& memory, const StepCall&) {
        reinterpret_cast<SteppedRow*>(memory.stepped_host)[5].packed.vote ^= 2;
      },
      [](const StepMemory& memory, const StepCall&) {
        reinterpret_cast<SteppedRow*>(memory.stepped_host)[5].head.dropped += 1;
      },
      [](const StepMemory& memory, const StepCall&) {
        auto* messages = reinterpret_cast<Message*>(memory.pushed_host);
        messages[5 * kOutboxMessages].context += 1;
      }};
  for (std::size_t k = 0; k < lies.size(); ++k) {
    Node node(3, 1);
    ASSERT_TRUE(node.step().ok());
    node.device->lie = lies[k];
    const Status stepped = node.step();
    EXPECT_EQ(stepped.detail(), kDeviceDiffers) << k;
    EXPECT_NE(stepped.message().find("shard 5: a step gave another result on the device: column "),
              std::string::npos)
        << stepped.message();
  }
}

TEST(DeviceCheck, OneStepInSoManyIsDoneAgain) {
  for (const std::uint32_t one_in : {1u, 8u}) {
    Node node(3, one_in);
    for (int k = 0; k < 50; ++k) {
      ASSERT_TRUE(node.step().ok());
    }
    const double drawn = static_cast<double>(node.stepper->report().steps_checked);
    EXPECT_NEAR(drawn * one_in, 50 * kRows, 50 * kRows / 4.0) << one_in;
  }
}

TEST(DeviceCheck, NothingIsCheckedWhereNobodyWantsIt) {
  Node node(3, 0);
  ASSERT_TRUE(node.step().ok());
  node.device->inject({DeviceFaultPlan::Kind::Flip, 1});
  node.rows = {0};
  ASSERT_TRUE(node.step().ok());
  EXPECT_TRUE(node.stepper->look_over().ok());
  const StepperReport report = node.stepper->report();
  EXPECT_EQ(report.steps_checked, 0u);
  EXPECT_EQ(report.rows_swept, 0u);
  EXPECT_EQ(report.sweep_looks, 0u);
}

// Whatever bit of what a row means flips, its digest is another one.
TEST(StoredDigest, EveryBitOfAPackedRowCounts) {
  PackedRow packed;
  const Tick deadline{77};
  const std::uint64_t digest = packed_digest(packed, deadline);
  std::set<std::uint64_t> seen{digest};
  for (std::uint32_t bit = 0; bit < sizeof packed * 8; ++bit) {
    auto* bytes = reinterpret_cast<unsigned char*>(&packed);
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1u << bit % 8));
    EXPECT_TRUE(seen.insert(packed_digest(packed, deadline)).second) << bit;
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1u << bit % 8));
  }
  for (std::uint32_t bit = 0; bit < 64; ++bit) {
    const Tick flipped{deadline.value ^ std::uint64_t{1} << bit};
    EXPECT_TRUE(seen.insert(packed_digest(packed, flipped)).second) << bit;
  }
}

}  // namespace
}  // namespace gcoord::consensus
