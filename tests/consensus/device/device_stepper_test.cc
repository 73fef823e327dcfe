// The stepper around a device, over a stand-in for the device: same columns and messages as on the
// CPU, only what is used on the way, and a full stop at every kind of failure.
#include "consensus/device/device_stepper.h"

#include "consensus/device/stand_in_device.h"
#include "consensus/step/recover.h"
#include "consensus/step/row_digest.h"
#include "tests/consensus/voters.h"

#include <gtest/gtest.h>

#include <numeric>
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
  Made(DeviceFaultPlan plan, std::uint32_t voter_count) {
    auto made = make_device_stepper(std::make_unique<StandInDevice>(plan, &watch),
                                    {.row_count = kRows, .slot_count = kSlots});
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

// --- Rows that do not fit 128 bytes

constexpr std::uint32_t kManyRows = 10'000;  // Three batches.

// A node of its own shards, on a device whose first pool has room for a batch and one row more, and
// the same on the CPU.
struct Grown {
  StandInDevice::Watch watch;
  std::unique_ptr<Stepper> device;
  std::unique_ptr<Stepper> cpu = make_cpu_stepper(kManyRows, kSlots);
  std::vector<std::uint32_t> rows;
  std::vector<Inbox> in = std::vector<Inbox>(kManyRows);
  std::vector<Outbox> out = std::vector<Outbox>(kManyRows);
  std::vector<Outbox> cpu_out = std::vector<Outbox>(kManyRows);
  std::uint64_t tick = 0;

  Grown(const std::vector<std::uint32_t>& active,
        std::uint32_t voter_count,
        std::size_t pool_bytes_max = ~std::size_t{0})
      : rows(active) {
    watch.pool_bytes_max = pool_bytes_max;
    device = std::move(make_device_stepper(
                           std::make_unique<StandInDevice>(DeviceFaultPlan{}, &watch),
                           {.row_count = kManyRows, .slot_count = kSlots, .wide_count = 1}))
                 .value();
    for (std::uint32_t row = 0; row < kManyRows; ++row) {
      for (Stepper* stepper : {device.get(), cpu.get()}) {
        recover(ShardRef(stepper->columns(), row),
                RecoveredShard{.configuration = voters(voter_count)},
                NodeId{1});
      }
      in[row].campaign = 1;
    }
  }

  // Both step the same; what they say must be the same, too.
  Status step() {
    StepInput input;
    input.tick = Tick{++tick};
    input.self = NodeId{1};
    GCOORD_TRY_STATUS(device->step(rows, in, out, input));
    EXPECT_TRUE(cpu->step(rows, in, cpu_out, input).ok());
    for (const std::uint32_t row : rows) {
      EXPECT_EQ(row_digest(device->columns(), row), row_digest(cpu->columns(), row)) << row;
    }
    return {};
  }

  // What storage and service answer; from `configure` on, the configuration of a row's shard.
  void answer(std::uint32_t voter_count) {
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const Outbox& said = out[k];
      in[k] = Inbox{};
      if (said.storage.present != 0) {
        in[k].storage_ack = {said.storage.term, said.storage.vote, 1};
      }
      in[k].applied = said.apply.last;
      if (voter_count != 0) {
        in[k].configuration_input = ConfigurationInput::Applied;
        in[k].configuration_index = device->columns().log[rows[k]].last;
        in[k].configuration = voters(voter_count);
      }
    }
  }

  // Elected, each with an applied entry, as one of `voter_count` afterwards.
  Status lead_and_configure(std::uint32_t voter_count) {
    for (std::uint32_t k = 0; k < 8; ++k) {
      GCOORD_TRY_STATUS(step());
      answer(k < 5 ? 0 : voter_count);
    }
    return {};
  }

  bool fits(std::uint32_t row) const {
    PackedRow packed;
    return pack(ShardRef(device->columns(), row), packed);
  }
};

std::vector<std::uint32_t> all_rows() {
  std::vector<std::uint32_t> rows(kManyRows);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

// Four voters do not fit a packed row, so every row is wide from the start.
TEST(DeviceStepper, RowsThatAreWideFromTheStartFindRoom) {
  Grown grown(all_rows(), 4);
  const std::uint64_t before = grown.device->report().device_memory_bytes;
  ASSERT_TRUE(grown.step().ok());
  EXPECT_FALSE(grown.fits(0));
  EXPECT_GE(grown.watch.pools, 1u);
  EXPECT_GT(grown.device->report().device_memory_bytes, before);
}

// Rows become wide while they are at work, by a configuration of four; the pool grows before a
// batch, and again, and every row that was wide already is found in its place.
TEST(DeviceStepper, ThePoolGrowsWithTheRowsThatBecomeWide) {
  Grown grown(all_rows(), 1);
  ASSERT_TRUE(grown.step().ok());
  EXPECT_TRUE(grown.fits(0));
  EXPECT_EQ(grown.watch.pools, 0u);
  grown.answer(0);
  ASSERT_TRUE(grown.lead_and_configure(4).ok());
  EXPECT_FALSE(grown.fits(0));
  EXPECT_FALSE(grown.fits(kManyRows - 1));
  EXPECT_GE(grown.watch.pools, 2u);
  ASSERT_TRUE(grown.step().ok());
  ASSERT_TRUE(grown.device->look_over().ok());
}

// Rows that fit again give their places back, and the pool stays.
TEST(DeviceStepper, PlacesThatComeFreeAreTakenAgain) {
  Grown grown(all_rows(), 3);
  std::uint32_t pools = 0;
  for (const std::uint32_t voter_count : {4u, 3u, 4u, 3u, 4u}) {
    for (Inbox& in : grown.in) {
      in = Inbox{};
      in.configuration_input = ConfigurationInput::Applied;
      in.configuration_index = LogIndex{1};
      in.configuration = voters(voter_count);
    }
    ASSERT_TRUE(grown.step().ok());
    EXPECT_EQ(grown.fits(0), voter_count == 3);
    EXPECT_EQ(grown.fits(kManyRows - 1), voter_count == 3);
    pools = pools == 0 ? grown.watch.pools : pools;
  }
  EXPECT_GE(pools, 1u);
  EXPECT_EQ(grown.watch.pools, pools);
}

// Rows get slots for more members while they are at work, packed and wide ones.
TEST(DeviceStepper, SlotsGrowUnderRowsAtWork) {
  for (const std::uint32_t before : {1u, 4u}) {
    Grown grown(all_rows(), 1);
    ASSERT_TRUE(grown.lead_and_configure(before).ok());
    for (Stepper* stepper : {grown.device.get(), grown.cpu.get()}) {
      ASSERT_TRUE(stepper->grow(kReplicaSlots).ok());
      ASSERT_TRUE(stepper->grow(kSlots).ok());
      EXPECT_EQ(stepper->columns().slot_count, kReplicaSlots);
    }
    ASSERT_TRUE(grown.lead_and_configure(7).ok());
    EXPECT_EQ(grown.device->columns().configuration[0].members(), voters(7).members());
    ASSERT_TRUE(grown.step().ok());
    ASSERT_TRUE(grown.device->look_over().ok());
  }
}

// A packed row of a table with fewer slots than it can hold says nothing of the others.
TEST(DeviceStepper, APackedRowThatGetsItsSecondSlotKnowsNothingOfIt) {
  const auto device =
      make_device_stepper(std::make_unique<StandInDevice>(), {.row_count = 1, .slot_count = 1});
  Stepper& stepper = *device.value();
  recover(ShardRef(stepper.columns(), 0), RecoveredShard{.configuration = voters(1)}, NodeId{1});
  const std::uint32_t row = 0;
  Inbox in;
  in.campaign = 1;
  Outbox out;
  for (std::uint64_t tick = 1; tick < 6; ++tick) {
    StepInput input;
    input.tick = Tick{tick};
    input.self = NodeId{1};
    ASSERT_TRUE(stepper.step({&row, 1}, {&in, 1}, {&out, 1}, input).ok());
    in = Inbox{};
    in.storage_ack = {out.storage.term, out.storage.vote, out.storage.present};
    if (tick == 4) {
      ASSERT_EQ(stepper.columns().hot[0].role, Role::Leader);
      ASSERT_TRUE(stepper.grow(3).ok());
    }
  }
  for (std::uint32_t slot = 1; slot < 3; ++slot) {
    const Progress progress = ShardRef(stepper.columns(), 0).progress(slot);
    EXPECT_EQ(progress.match, LogIndex{0});
    EXPECT_EQ(progress.next, LogIndex{0});
  }
}

// Where there is no room for twice the pool, there may be for what is needed.
TEST(DeviceStepper, APoolTakesWhatIsNeededWhereTwiceAsMuchIsNotToBeHad) {
  const std::size_t most = wide_pool_bytes(kSlots, 3 * 4096);
  Grown grown(all_rows(), 1, wide_pool_bytes(kSlots, 8194) - 1);
  const Status stepped = grown.lead_and_configure(4);
  EXPECT_EQ(stepped.detail(), kDeviceExhausted) << "of the third batch, all rows are wide";
  EXPECT_EQ(grown.watch.pools, 1u) << "the second batch found room";
  Grown enough(all_rows(), 1, most);
  EXPECT_TRUE(enough.lead_and_configure(4).ok());
}

TEST(DeviceStepper, ADeviceWithoutMemoryForItsWideRowsIsAFailure) {
  Grown grown(all_rows(), 1, wide_pool_bytes(kSlots, 5000));
  const Status stepped = grown.lead_and_configure(4);
  EXPECT_EQ(stepped.detail(), kDeviceExhausted) << stepped.to_string();
  EXPECT_NE(stepped.message().find("shards do not fit"), std::string::npos) << stepped.message();
  EXPECT_EQ(grown.step().message(), stepped.message());
}

}  // namespace
}  // namespace gcoord::consensus
