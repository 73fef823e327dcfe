// The resident cluster: host, packed twin and device agree row by row, and commands get applied.
#include "chaos/parity/drive.h"
#include "chaos/parity/parity_run.h"
#include "chaos/parity/world.h"
#include "consensus/device/difference.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace gcoord::chaos {
namespace {

constexpr ParityOptions kShort{
    .shard_count = 128, .turns_per_seed = 300, .steps_wanted = 200'000, .threads = 2};

void expect_parity(ParityOptions options, int device) {
  options.device = device;
  const auto report = run_parity(options);
  if (!report.ok() && report.status().code() == StatusCode::Unavailable) {
    GTEST_SKIP() << "skipped: " << report.status().message();
  }
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report.value().difference, "");
  EXPECT_GE(report.value().steps, options.steps_wanted);
  // A run in which nothing happens would agree as well.
  EXPECT_GT(report.value().applied, options.shard_count * 10u);
  EXPECT_GT(report.value().restarts, 0u);
  EXPECT_GT(report.value().wide_rows, 0u);
}

TEST(Parity, HostAndPackedTwinAgreeUnderFaults) {
  expect_parity(kShort, -1);
}

TEST(Parity, HostAndDeviceAgreeUnderFaults) {
  expect_parity(kShort, 0);
}

// The comparison sees what it is there to see.
TEST(Parity, NamesTheFirstFieldThatDiffers) {
  consensus::RowCopy one{};
  consensus::RowCopy other{};
  EXPECT_EQ(first_difference(one, other), "");
  other.log.commit = LogIndex{7};
  EXPECT_EQ(first_difference(one, other), "log.commit: 0 and 7");
  other.hot.term = Term{3};
  EXPECT_EQ(first_difference(one, other), "hot.term: 0 and 3");
}

constexpr std::uint32_t kShards = 64;
constexpr ResidentShape kShape{
    .shard_count = kShards, .ages = 2, .log_slots = 64, .entries_max = 4};

ResidentDriveOptions quiet() {
  ResidentDriveOptions options = quiet_drive(3, kShape.entries_max);
  options.limits.uncommitted_entries = kShape.log_slots / 4;
  return options;
}

// Elects node k in every third shard and offers it two commands in every turn.
void feed(ResidentWorld& world, ResidentDrive& drive, std::uint32_t turns) {
  constexpr std::uint32_t kLiveTurns = 10;
  for (std::uint32_t k = 0; k < kLiveTurns + turns; ++k) {
    drive.rates().first_leaders = k == kLiveTurns ? 1 : 0;
    drive.rates().fed = k >= kLiveTurns ? 1 : 0;
    drive.rates().proposal_count = 2;
    ASSERT_TRUE(world.run(drive.next()).ok());
  }
  drive.rates().fed = 0;
}

TEST(ResidentCluster, CommitsWhatLeadersAreFedOnEveryShard) {
  constexpr std::uint32_t kTurns = 60;
  constexpr std::uint32_t kElectionTurns = 20;
  const auto world = make_packed_world(kShape, kShards);
  ResidentDrive drive(quiet());
  feed(*world, drive, kTurns);
  std::vector<Service> first;
  std::vector<Service> second;
  ASSERT_TRUE(world->services(0, first).ok());
  ASSERT_TRUE(world->services(1, second).ok());
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_GE(first[shard].index.value, 2 * (kTurns - kElectionTurns)) << "shard " << shard;
    if (first[shard].index == second[shard].index) {
      EXPECT_EQ(first[shard].digest, second[shard].digest) << "shard " << shard;
    }
  }
}

TEST(ResidentCluster, StepsNobodyOnceAllIsSaid) {
  const auto world = make_packed_world(kShape, kShards);
  ResidentDrive drive(quiet());
  constexpr std::uint32_t kFedTurns = 30;
  feed(*world, drive, kFedTurns);
  constexpr std::uint32_t kSettleTurns = 300;
  for (std::uint32_t k = 0; k < kSettleTurns; ++k) {
    ASSERT_TRUE(world->run(drive.next()).ok());
  }
  const auto before = world->steps();
  for (std::uint32_t k = 0; k < kSettleTurns; ++k) {
    ASSERT_TRUE(world->run(drive.next()).ok());
  }
  const auto after = world->steps();
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(before.value(), after.value());
}

// A pool that is too small for the exceptional rows ends the run; it loses no row in silence.
TEST(ResidentCluster, FailsWhenExceptionalRowsFindNoPlace) {
  ResidentShape shape = kShape;
  shape.ages = kResidentAges;
  shape.log_slots = 128;
  const auto world = make_packed_world(shape, 0);
  ResidentDrive drive(hostile_drive(5, shape.entries_max));
  Status status;
  constexpr std::uint32_t kTurns = 200;
  for (std::uint32_t k = 0; k < kTurns && status.ok(); ++k) {
    ASSERT_TRUE(world->run(drive.next()).ok());
    status = world->finish();
  }
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
}

}  // namespace
}  // namespace gcoord::chaos
