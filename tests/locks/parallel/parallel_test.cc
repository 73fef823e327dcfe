// LockParallel against LockCpu: the same commands of many shards give the same replies, events,
// state hashes and snapshot bytes, on the host's twin of the device with one thread or several and
// runs in any order, and on a GPU where there is one.
#include "locks/parallel/parallel.h"

#include "common/random.h"
#include "locks/parallel/cuda.h"
#include "tests/locks/busy_world.h"
#include "tests/locks/lock_host_device.h"
#include "tests/locks/lock_parallel_drive.h"
#include "tests/locks/orderly_world.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::locks {
namespace {

// Batches of a busy world, and what LockCpu did with them.
class World {
 public:
  explicit World(const BusyOptions& options) : world_(options) {}

  // Adds a command to the batch and applies it to LockCpu.
  void next(HostBatch& batch, HostOutcome& out) {
    const BusyEntry entry = world_.draw();
    batch.add(entry.shard, entry.index, entry.command);
    LockEvents events{events_.data(), kLockEventsPerCommandMax, 0};
    out.replies.push_back(world_.apply(entry, events));
    out.events.insert(out.events.end(), events_.begin(), events_.begin() + events.count);
  }

  LockCpu& cpu() { return world_.cpu(); }

 private:
  BusyWorld world_;
  std::array<LockEvent, kLockEventsPerCommandMax> events_{};
};

struct ParityShape {
  BusyOptions world;
  std::uint32_t batches = 30;
  std::uint32_t batch_max = 500;
};

// Batches of random sizes; after some of them all state is compared, and at half time the device
// starts anew from the CPU's state.
void run_parity(std::unique_ptr<LockDevice> device, const ParityShape& shape) {
  auto made = LockParallel::make(std::move(device),
                                 {.shard_count = shape.world.shard_count,
                                  .batch_max = shape.batch_max,
                                  .events_initial = 1,
                                  .locks_initial = 1,
                                  .sessions_initial = 1,
                                  .requests_initial = 1,
                                  .name_blocks_initial = 1,
                                  .index_seed = 9});
  ASSERT_TRUE(made.ok()) << made.status().message();
  ParallelDrive drive(std::move(made).value());
  World world(shape.world);
  std::uint32_t refused_count = 0;
  std::uint32_t unknown_count = 0;
  for (std::uint32_t k = 0; k < shape.batches; ++k) {
    HostBatch batch;
    HostOutcome wanted;
    HostOutcome got;
    const std::uint32_t count = 1 + random_below(random64(shape.world.seed, 2, k), shape.batch_max);
    for (std::uint32_t i = 0; i < count; ++i) {
      world.next(batch, wanted);
    }
    ASSERT_NO_FATAL_FAILURE(drive.apply(batch, got));
    ASSERT_NO_FATAL_FAILURE(expect_same(got, wanted)) << "batch " << k;
    refused_count += got.refused_count;
    unknown_count += got.unknown_count;
    if (k % 5 == 4) {
      ASSERT_NO_FATAL_FAILURE(
          expect_same_state(drive.locks(), world.cpu(), shape.world.shard_count));
    }
    if (k == shape.batches / 2) {
      ASSERT_TRUE(drive.locks().load(world.cpu()).ok());
    }
  }
  ASSERT_NO_FATAL_FAILURE(expect_same_state(drive.locks(), world.cpu(), shape.world.shard_count));
  EXPECT_GT(refused_count, 0u);  // Pools began with one row each.
  EXPECT_EQ(unknown_count, world.cpu().unknown_command_count());
}

constexpr std::array<ParityShape, 4> kShapes = {{
    {.world = {.shard_count = 8, .hot_percent = 30, .seed = 1}},
    {.world = {.shard_count = 1, .names = 40, .seed = 2}},
    {.world = {.shard_count = 500, .hot_percent = 5, .seed = 3}},
    {.world = {.shard_count = 3, .hot_percent = 90, .names = 2, .seed = 4}, .batch_max = 3000},
}};

TEST(LockParallelOnHost, AnswersAndStateAreThoseOfTheCpuInAnyOrderOfRuns) {
  for (const ParityShape& shape : kShapes) {
    for (const std::uint64_t seed : {1u, 2u}) {
      ASSERT_NO_FATAL_FAILURE(run_parity(std::make_unique<HostLockDevice>(seed, 1), shape));
    }
  }
}

TEST(LockParallelOnHost, SeveralThreadsAtOnceChangeNothing) {
  for (const ParityShape& shape : kShapes) {
    ASSERT_NO_FATAL_FAILURE(run_parity(std::make_unique<HostLockDevice>(3, 4), shape));
  }
}

// Each writer toggles keys of its own, all of them in the same few lines.
TEST(SharedIndex, SeveralWritersFindTheirOwnRowsWhateverTheOthersDo) {
  constexpr std::uint32_t kWriters = 4;
  constexpr std::uint32_t kRowsEach = 8;
  std::vector<IndexLine> lines(16);
  const HashIndex index{.lines = lines.data(), .mask = 15, .writers = IndexWriters::Many};
  std::array<std::uint32_t, kWriters> wrong{};
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t writer = 0; writer < kWriters; ++writer) {
      threads.emplace_back([&, writer] {
        std::uint32_t present = 0;
        for (std::uint32_t i = 0; i < 20'000; ++i) {
          const std::uint32_t number = random_below(random64(writer, 1, i), kRowsEach);
          const std::uint32_t row = 1 + number * kWriters + writer;
          const bool was_there = (present >> number & 1) != 0;
          const std::uint32_t found =
              index.find(row % 3, [row](std::uint32_t candidate) { return candidate == row; });
          wrong[writer] += found == (was_there ? row : 0) ? 0 : 1;
          if (was_there) {
            wrong[writer] += index.erase(row % 3, row) ? 0 : 1;
          } else {
            index.insert(row % 3, row);
          }
          present ^= 1u << number;
        }
      });
    }
  }
  for (const std::uint32_t count : wrong) {
    EXPECT_EQ(count, 0u);
  }
}

// What was taken in an earlier batch goes to the end of the ring, where later batches find it.
TEST(RowWindow, RowsBeyondTheOwnGoToTheEndOfTheRing) {
  std::vector<NameBlock> records(9);
  std::vector<std::uint32_t> ring(16);
  std::uint32_t returned = 8;
  RowWindow window{.first = 4, .next = 4, .last = 6};
  RowPool<NameBlock, NameBlockRow> pool;
  pool.records = records.data();
  pool.free_rows = ring.data();
  pool.window = &window;
  pool.returned = &returned;
  pool.capacity = 8;
  pool.position_mask = 15;
  const NameBlockRow taken = pool.take();
  EXPECT_EQ(taken.value, 5u);  // Its position was never written.
  pool.give_back(NameBlockRow{1});
  EXPECT_EQ(window.next, 4u);
  pool.give_back(NameBlockRow{2});
  EXPECT_EQ(returned, 9u);
  EXPECT_EQ(ring[8], 2u);
  EXPECT_EQ(pool.take(), NameBlockRow{1});
}

// An acquire that lets others in, with room for one event to begin with.
TEST(LockParallelOnHost, AWriterWhoGoesOnAsAReaderFindsRoomForTheEventsOfThoseBehind) {
  constexpr std::uint64_t kReaders = 5;
  auto made = LockParallel::make(std::make_unique<HostLockDevice>(1, 1),
                                 {.shard_count = 1, .batch_max = 16, .events_initial = 1});
  ASSERT_TRUE(made.ok());
  ParallelDrive drive(std::move(made).value());
  const auto ask = [](std::uint64_t session, std::uint64_t sequence, std::uint8_t flags) {
    return make_acquire_hold({.acquire = {.session = SessionId{session},
                                          .sequence = RequestSequence{sequence},
                                          .name = "doc",
                                          .wait = true,
                                          .ttl_ms = 1000},
                              .ask = {.flags = flags, .permits = 1},
                              .text = "doc"});
  };
  HostBatch waits;
  waits.add(ShardId{0},
            LogIndex{1},
            make_acquire({.session = SessionId{1},
                          .sequence = RequestSequence{1},
                          .name = "doc",
                          .ttl_ms = 1000}));
  for (std::uint64_t reader = 1; reader <= kReaders; ++reader) {
    waits.add(ShardId{0}, LogIndex{1 + reader}, ask(1 + reader, 1, kHoldShared));
  }
  HostOutcome out;
  ASSERT_NO_FATAL_FAILURE(drive.apply(waits, out));
  EXPECT_EQ(out.replies.back().code, LockCode::Waiting);
  HostBatch down;
  down.add(ShardId{0}, LogIndex{2 + kReaders}, ask(1, 2, kHoldShared | kHoldDowngrade));
  ASSERT_NO_FATAL_FAILURE(drive.apply(down, out));
  EXPECT_EQ(out.replies[0].code, LockCode::Downgraded);
  EXPECT_EQ(out.events.size(), kReaders);
}

// A group's run did not count the rows of what asks for more, and claimed too few.
TEST(LockParallelOnHost, ALongRunOfHoldsClaimsTheRowsOfTheirSharesAndNotes) {
  constexpr std::uint32_t kHolds = 300;
  auto made = LockParallel::make(std::make_unique<HostLockDevice>(1, 1),
                                 {.shard_count = 1, .batch_max = kHolds, .events_initial = 1});
  ASSERT_TRUE(made.ok());
  ParallelDrive drive(std::move(made).value());
  HostBatch batch;
  for (std::uint32_t i = 1; i <= kHolds; ++i) {
    const std::string name = "doc" + std::to_string(i);
    const bool shares = i % 2 == 0;
    const std::string text = name + (shares ? "" : std::string(kNoteBytesMax, 'n'));
    const HoldOptions read{.flags = kHoldShared, .permits = 1};
    batch.add(ShardId{0},
              LogIndex{i},
              make_acquire_hold({.acquire = {.session = SessionId{i},
                                             .sequence = RequestSequence{1},
                                             .name = std::string_view{text}.substr(0, name.size()),
                                             .ttl_ms = 1000},
                                 .ask = shares ? read : HoldOptions{},
                                 .text = text}));
  }
  HostOutcome out;
  ASSERT_NO_FATAL_FAILURE(drive.apply(batch, out));
  for (const LockReply& reply : out.replies) {
    EXPECT_EQ(reply.code, LockCode::Granted);
  }
}

TEST(LockParallelOnHost, BatchAboveTheReservedSizeIsRefusedWithoutChange) {
  auto made = LockParallel::make(std::make_unique<HostLockDevice>(1, 1), {.batch_max = 4});
  ASSERT_TRUE(made.ok());
  const std::vector<CommittedCommand> commands(5);
  const auto outcome = made.value()->apply(commands.data(), "", 5);
  EXPECT_EQ(outcome.status().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(made.value()->usage().value().locks, 0u);
}

TEST(LockParallelOnDevice, AnswersAndStateAreThoseOfTheCpu) {
  ParityShape large{.world = {.shard_count = 4096, .hot_percent = 10, .seed = 5},
                    .batches = 12,
                    .batch_max = 60'000};
  std::vector<ParityShape> shapes(kShapes.begin(), kShapes.end());
  shapes.push_back(large);
  for (const ParityShape& shape : shapes) {
    auto device = make_cuda_lock_device(0);
    if (!device.ok() && device.status().code() == StatusCode::Unavailable) {
      GTEST_SKIP() << "skipped: " << device.status().message();
    }
    ASSERT_TRUE(device.ok()) << device.status().message();
    ASSERT_NO_FATAL_FAILURE(run_parity(std::move(device).value(), shape));
  }
}

constexpr std::array<OrderlyShape, 5> kOrderlyShapes = {{
    {.sessions = 16, .names = 1, .release_percent = 100, .unacked_max = 0, .odd_percent = 0},
    {.sessions = 100, .names = 3, .wait_percent = 100},
    {.shards = 3, .sessions = 6, .names = 40, .wait_percent = 10, .unacked_max = 40},
    {.sessions = 1, .names = 2, .release_percent = 90, .wait_percent = 0, .odd_percent = 0},
    {.shards = 40, .sessions = 12, .names = 6, .odd_percent = 10},
}};

TEST(LockParallelOnDevice, WindowsOfLongRunsAnswerAsTheCpu) {
  std::uint64_t seed = 0;
  for (const OrderlyShape& shape : kOrderlyShapes) {
    auto device = make_cuda_lock_device(0);
    if (!device.ok() && device.status().code() == StatusCode::Unavailable) {
      GTEST_SKIP() << "skipped: " << device.status().message();
    }
    ASSERT_TRUE(device.ok()) << device.status().message();
    auto made = LockParallel::make(std::move(device).value(),
                                   {.shard_count = shape.shards,
                                    .batch_max = 10'000,
                                    .events_initial = 1,
                                    .locks_initial = 1,
                                    .sessions_initial = 1,
                                    .requests_initial = 1,
                                    .name_blocks_initial = 1,
                                    .index_seed = 9});
    ASSERT_TRUE(made.ok()) << made.status().message();
    const std::vector<std::uint32_t> sizes = {1, 64, 100, 1000, 5000, 10'000, 777, 10'000};
    const std::uint32_t planned = run_orderly(std::move(made).value(), shape, ++seed, sizes);
    ASSERT_FALSE(HasFailure()) << "shape " << seed;
    EXPECT_GT(planned, 1000u) << "shape " << seed;
  }
}

}  // namespace
}  // namespace gcoord::locks
