// The stepper around a device, over a stand-in for the device: same columns and messages as on the
// CPU, only what is used on the way, and a full stop at every kind of failure.
#include "consensus/device_stepper.h"

#include "consensus/recover.h"
#include "consensus/stand_in_device.h"
#include "voters.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::consensus {
namespace {

constexpr std::uint32_t kRows = 64;
constexpr std::uint32_t kSlots = 5;

struct Made {
  StandInDevice::Watch watch;
  std::unique_ptr<Stepper> stepper;
  PeerLiveness peer{.node = NodeId{2}, .incarnation = Incarnation{1}, .credit = 8};
  std::vector<std::uint32_t> rows;
  std::vector<Inbox> in = std::vector<Inbox>(kRows);
  std::vector<Outbox> out = std::vector<Outbox>(kRows);

  // Every row campaigns for itself, as one of `voter_count`.
  Made(DeviceFaultPlan plan, std::uint32_t voter_count, std::uint32_t wide_count = 0) {
    auto made =
        make_device_stepper(std::make_unique<StandInDevice>(plan, &watch),
                            {.row_count = kRows, .slot_count = kSlots, .wide_count = wide_count});
    EXPECT_TRUE(made.ok());
    stepper = std::move(made).value();
    for (std::uint32_t row = 0; row < kRows; ++row) {
      recover(ShardRef(stepper->columns(), row),
              RecoveredShard{.configuration = voters(voter_count)},
              NodeId{1});
      rows.push_back(row);
      in[row].campaign = 1;
    }
  }

  Status step(std::uint64_t tick) {
    StepInput input;
    input.tick = Tick{tick};
    input.self = NodeId{1};
    input.peer = &peer;
    input.peer_count = 1;
    return stepper->step(rows, in, out, input);
  }
};

TEST(DeviceStepper, MovesOnlyWhatABatchUses) {
  Made made({}, 3);
  made.rows.resize(2);
  ASSERT_TRUE(made.step(1).ok());
  const std::size_t bare = made.watch.staged_bytes;
  EXPECT_LT(bare, 2 * sizeof(StagedRow) + 256);
  EXPECT_EQ(made.watch.stepped_bytes, 2 * sizeof(SteppedRow));
  made.in[1].message_count = 3;
  for (std::uint32_t k = 0; k < 3; ++k) {
    made.in[1].message[k].shard = ShardId{1};
    made.in[1].message[k].from = NodeId{2};
    made.in[1].message[k].to = NodeId{1};
  }
  ASSERT_TRUE(made.step(2).ok());
  EXPECT_EQ(made.watch.staged_bytes, bare + 3 * sizeof(Message));
  EXPECT_EQ(made.watch.launches, 2u);
}

TEST(DeviceStepper, RowsThatWereNotSteppedStayAsTheyWere) {
  Made made({}, 3);
  made.rows = {7};
  ASSERT_TRUE(made.step(1).ok());
  EXPECT_EQ(made.stepper->columns().hot[7].role, Role::PreCandidate);
  EXPECT_EQ(made.stepper->columns().hot[8].role, Role::Follower);
}

TEST(DeviceStepper, AFailedCallFailsItsStepAndEveryLaterOne) {
  // Allocating, uploading, then four calls per batch.
  for (std::uint64_t number = 2; number <= 10; ++number) {
    Made made({DeviceFaultPlan::Kind::Call, number}, 3);
    const std::uint64_t last_good = number <= 6 ? 0 : 1;
    std::uint64_t tick = 0;
    Status stepped;
    while (stepped.ok() && tick < 9) {
      stepped = made.step(++tick);
    }
    EXPECT_EQ(stepped.detail(), kDeviceFailed) << number;
    EXPECT_EQ(tick, last_good + 1) << number;
    EXPECT_EQ(made.step(++tick).message(), stepped.message());
    EXPECT_EQ(made.watch.calls, number) << "nothing is asked of a device that failed";
  }
}

TEST(DeviceStepper, ADeviceThatCannotBeOpenedMakesNoStepper) {
  const auto made = make_device_stepper(
      std::make_unique<StandInDevice>(DeviceFaultPlan{DeviceFaultPlan::Kind::Call, 1}),
      {.row_count = kRows, .slot_count = kSlots});
  EXPECT_EQ(made.status().detail(), kDeviceFailed);
}

TEST(DeviceStepper, ABatchThatDoesNotEndInTimeIsAFailure) {
  Made made({DeviceFaultPlan::Kind::Hang, 2}, 3);
  EXPECT_TRUE(made.step(1).ok());
  EXPECT_EQ(made.step(2).detail(), kDeviceOverrun);
  EXPECT_EQ(made.step(3).detail(), kDeviceOverrun);
}

// Four voters do not fit a packed row, so every row is wide, and there is room for half of them.
TEST(DeviceStepper, ARowWithoutRoomInThePoolIsAFailure) {
  Made all_fit({}, 4);
  EXPECT_TRUE(all_fit.step(1).ok());
  Made half_fit({}, 4, kRows / 2);
  const Status uploaded = half_fit.step(1);
  EXPECT_EQ(uploaded.detail(), kDeviceExhausted);
  EXPECT_NE(uploaded.message().find("shard 32"), std::string::npos) << uploaded.message();
}

// The same during a step: rows become wide by a configuration of four.
TEST(DeviceStepper, ARowThatGrowsWithoutRoomInThePoolIsAFailure) {
  Made made({}, 1, kRows / 2);
  ASSERT_TRUE(made.step(1).ok());
  for (std::uint32_t row = 0; row < kRows; ++row) {
    const Outbox& out = made.out[row];
    made.in[row].campaign = 0;
    made.in[row].storage_ack = {out.storage.term, out.storage.vote, 1};
  }
  Status stepped;
  for (std::uint64_t tick = 2; tick < 12 && stepped.ok(); ++tick) {
    stepped = made.step(tick);
    for (std::uint32_t row = 0; row < kRows && stepped.ok(); ++row) {
      const Outbox& out = made.out[row];
      Inbox& in = made.in[row];
      in = Inbox{};
      if (out.storage.present != 0) {
        in.storage_ack = {out.storage.term, out.storage.vote, 1};
      }
      in.applied = out.apply.last;
      if (tick >= 6) {
        in.configuration_input = ConfigurationInput::Applied;
        in.configuration_index = made.stepper->columns().log[row].last;
        in.configuration = voters(4);
      }
    }
  }
  EXPECT_EQ(stepped.detail(), kDeviceExhausted) << stepped.to_string();
}

}  // namespace
}  // namespace gcoord::consensus
