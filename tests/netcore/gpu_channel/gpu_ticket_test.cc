// The ticket lock on devices: one GPU, several mappings of one lock, two GPUs. Needs a GPU; where
// there is none, every case says so and is skipped.
#include "netcore/probe/ticket_probe_job.h"
#include "netcore/ticket/gpu_lock.h"
#include "tests/netcore/gpu_channel/gpu_test.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::netcore {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// One device's side of a lock and of what it protects.
struct Side {
  Side(std::uint32_t device, std::unique_ptr<MemorySource> memory)
      : index(device), registry(std::move(memory)) {}

  std::uint32_t index;
  MemoryRegistry registry;
  std::unique_ptr<GpuTicketLock> lock;
  MemoryRange guarded;
};

class GpuTicket : public GpuTest {
 protected:
  std::unique_ptr<Side> side(std::uint32_t device) {
    return std::make_unique<Side>(device, memory_of(device));
  }

  // The home of a lock on cuda:0.
  std::unique_ptr<Side> home(std::uint32_t groups, std::uint32_t places) {
    options_.layout = {groups, places};
    std::unique_ptr<Side> made = side(0);
    auto lock = GpuTicketLock::create(made->registry, options_);
    auto guarded = made->registry.allocate(MemoryKind::Shared, sizeof(TicketGuarded));
    EXPECT_TRUE(lock.ok() && guarded.ok());
    made->lock = std::move(lock).value();
    made->guarded = guarded.value();
    return made;
  }

  // Another side of it.
  std::unique_ptr<Side> guest(const Side& from, std::uint32_t device) {
    std::unique_ptr<Side> made = side(device);
    auto lock = GpuTicketLock::import(made->registry, from.lock->region().fd, options_);
    auto guarded = made->registry.import(from.guarded.fd, sizeof(TicketGuarded));
    EXPECT_TRUE(lock.ok()) << lock.status().to_string();
    EXPECT_TRUE(guarded.ok()) << guarded.status().to_string();
    made->lock = std::move(lock).value();
    made->guarded = guarded.value();
    return made;
  }

  static std::unique_ptr<TicketProbeJob> start(Side& on,
                                               std::uint32_t groups,
                                               const TicketProbeOptions& probe,
                                               std::uint32_t number = 0,
                                               TicketScope scope = TicketScope::System) {
    TicketProbeJobOptions options;
    options.device = on.index;
    options.scope = scope;
    options.warps_per_block = 4;
    options.work.lock = on.lock->device();
    options.work.guarded = reinterpret_cast<TicketGuarded*>(on.guarded.address);
    options.work.probe = probe;
    options.work.group_count = groups;
    options.work.side = number;
    auto job = TicketProbeJob::start(options);
    EXPECT_TRUE(job.ok()) << job.status().to_string();
    return std::move(job).value();
  }

  static TicketProbeResult end(TicketProbeJob& job) {
    const auto results = job.finish();
    EXPECT_TRUE(results.ok()) << results.status().to_string();
    TicketProbeResult sum;
    for (const TicketProbeResult& result : results.value()) {
      sum.held += result.held;
      sum.left += result.left;
      sum.revoked += result.revoked;
      sum.wrong += result.wrong;
      if (result.verdict != TicketVerdict::Released) {
        sum.verdict = result.verdict;
      }
    }
    return sum;
  }

  static TicketGuarded guarded_of(Side& on) {
    TicketGuarded guarded;
    EXPECT_TRUE(on.registry.source()
                    .read(std::as_writable_bytes(std::span{&guarded, 1}), on.guarded.address)
                    .ok());
    return guarded;
  }

  // Every lane of every hold added one, and nothing was lost.
  static void expect_holds(Side& on, std::uint64_t holds) {
    const TicketGuarded guarded = guarded_of(on);
    for (const std::uint64_t word : guarded.holds) {
      EXPECT_EQ(word, holds);
    }
  }

  static TicketProbeOptions takes(std::uint64_t count) {
    TicketProbeOptions probe;
    probe.takes = count;
    probe.timeout_ns = 20 * kSecond;
    probe.seed = 3;
    return probe;
  }

  static void wait_until_waiting(const Side& on, std::uint64_t waiting) {
    for (;;) {
      const auto look = on.lock->look();
      ASSERT_TRUE(look.ok()) << look.status().to_string();
      if (look.value().waiting >= waiting) {
        return;
      }
      std::this_thread::yield();
    }
  }

  GpuTicketLockOptions options_;
};

TEST_F(GpuTicket, HundredsOfWarpsOfOneDeviceAddWithoutLosingOne) {
  for (const TicketScope scope : {TicketScope::System, TicketScope::Device}) {
    const auto on = home(512, 1024);
    const auto job = start(*on, 512, takes(200), 0, scope);
    const TicketProbeResult sum = end(*job);
    EXPECT_EQ(sum.verdict, TicketVerdict::Released);
    EXPECT_EQ(sum.held, 512u * 200);
    EXPECT_EQ(sum.wrong, 0u);
    expect_holds(*on, sum.held);
    const auto look = on->lock->look();
    ASSERT_TRUE(look.ok());
    EXPECT_EQ(look.value().next, 512u * 200);
    EXPECT_FALSE(look.value().holder.has_value());
  }
}

TEST_F(GpuTicket, WarpsThatLeaveAndWarpsThatTryLoseNothing) {
  const auto on = home(256, 512);
  TicketProbeOptions probe = takes(400);
  probe.short_of_1024 = 300;
  probe.short_ns = 20'000;
  probe.try_of_1024 = 100;
  const TicketProbeResult sum = end(*start(*on, 256, probe));
  EXPECT_EQ(sum.verdict, TicketVerdict::Released);
  EXPECT_EQ(sum.held + sum.left, 256u * 400);
  EXPECT_GT(sum.left, 0u);
  EXPECT_EQ(sum.wrong, 0u);
  expect_holds(*on, sum.held);
}

TEST_F(GpuTicket, AHolderThatEndedIsRevokedByTheHostAndAllOthersAreServed) {
  const auto on = home(64, 128);
  TicketProbeOptions probe = takes(50);
  probe.stays_at = 25;
  const auto job = start(*on, 64, probe);
  while (!job->done()) {
    const auto before = on->lock->look();
    const auto look = on->lock->look();
    const auto after = on->lock->look();
    ASSERT_TRUE(before.ok() && look.ok() && after.ok());
    // Nobody drew a ticket while the middle one was copied, so no warp is counted twice in it.
    const bool stands = before.value().next == after.value().next && look.value().waiting == 63 &&
                        look.value().holder.has_value();
    if (stands) {
      // All others wait: only the one that ended holds.
      ASSERT_TRUE(on->lock->revoke(*look.value().holder).ok());
    }
  }
  const auto results = job->finish();
  ASSERT_TRUE(results.ok()) << results.status().to_string();
  EXPECT_EQ(results.value()[0].verdict, TicketVerdict::Held);
  for (std::size_t group = 1; group < results.value().size(); ++group) {
    EXPECT_EQ(results.value()[group].verdict, TicketVerdict::Released) << "group " << group;
  }
}

TEST_F(GpuTicket, WaitersLeaveAtTheirDeadlineAtAnAbortAndWhenItIsClosed) {
  const auto on = home(16, 64);
  TicketProbeOptions keeps = takes(1);
  keeps.stays_at = 0;
  const auto keeper = start(*on, 1, keeps);
  EXPECT_EQ(end(*keeper).verdict, TicketVerdict::Held);
  TicketProbeOptions late = takes(1);
  late.timeout_ns = kSecond / 10;
  EXPECT_EQ(end(*start(*on, 8, late)).verdict, TicketVerdict::TimedOut);
  const auto other = guest(*on, 0);
  const auto aborted = start(*on, 8, takes(1));
  const auto closed = start(*other, 4, takes(1));
  wait_until_waiting(*on, 12);
  ASSERT_TRUE(on->lock->abort().ok());
  EXPECT_EQ(end(*aborted).verdict, TicketVerdict::Aborted);
  ASSERT_TRUE(other->lock->close().ok());
  EXPECT_EQ(end(*closed).verdict, TicketVerdict::Closed);
}

TEST_F(GpuTicket, GarbageInAPlaceEndsEveryKernel) {
  const auto on = home(64, 128);
  TicketProbeOptions probe = takes(1'000'000);
  const auto job = start(*on, 64, probe);
  std::vector<std::byte> garbage(ticket_region_bytes(options_.layout) - 3 * kTicketLineBytes,
                                 std::byte{0xff});
  ASSERT_TRUE(
      on->registry.source().write(on->lock->region().address + 3 * kTicketLineBytes, garbage).ok());
  EXPECT_EQ(end(*job).verdict, TicketVerdict::Broken);
  // The device still works.
  const auto fresh = home(64, 128);
  EXPECT_EQ(end(*start(*fresh, 64, takes(20))).held, 64u * 20);
}

TEST_F(GpuTicket, SidesWithMappingsOfTheirOwnShareOneLock) {
  const auto on = home(128, 256);
  const auto other = guest(*on, 0);
  const auto first = start(*on, 64, takes(200), 0);
  const auto second = start(*other, 64, takes(200), 1);
  const TicketProbeResult one = end(*first);
  const TicketProbeResult two = end(*second);
  EXPECT_EQ(one.held + two.held, 2u * 64 * 200);
  EXPECT_EQ(one.wrong + two.wrong, 0u);
  expect_holds(*on, 2u * 64 * 200);
}

TEST_F(GpuTicket, TwoDevicesShareOneLockOverNvlink) {
  if (count_ < 2) {
    GTEST_SKIP() << "skipped: a lock over NVLink needs two devices, here is one";
  }
  const Status reaches = gpu_atomics_reach(1, 0);
  if (!reaches.ok()) {
    GTEST_SKIP() << "skipped: " << reaches.to_string();
  }
  const auto on = home(256, 512);
  const auto other = guest(*on, 1);
  TicketProbeOptions probe = takes(200);
  probe.short_of_1024 = 100;
  probe.short_ns = 50'000;
  const auto first = start(*on, 128, probe, 0);
  const auto second = start(*other, 128, probe, 1);
  const TicketProbeResult one = end(*first);
  const TicketProbeResult two = end(*second);
  EXPECT_EQ(one.verdict, TicketVerdict::Released);
  EXPECT_EQ(two.verdict, TicketVerdict::Released);
  EXPECT_EQ(one.held + two.held + one.left + two.left, 2u * 128 * 200);
  EXPECT_EQ(one.wrong + two.wrong, 0u);
  expect_holds(*on, one.held + two.held);
}

TEST_F(GpuTicket, AHostThreadAndAKernelShareALockInPinnedMemoryWhereAtomicsReach) {
  const Status reaches = gpu_host_atomics(0);
  if (!reaches.ok()) {
    GTEST_SKIP() << "skipped: " << reaches.to_string();
  }
  const auto on = side(0);
  options_.layout = {16, 32};
  options_.kind = MemoryKind::Pinned;
  options_.control_kind = MemoryKind::Pinned;
  auto lock = GpuTicketLock::create(on->registry, options_);
  auto guarded = on->registry.allocate(MemoryKind::Pinned, sizeof(TicketGuarded));
  ASSERT_TRUE(lock.ok() && guarded.ok());
  on->lock = std::move(lock).value();
  on->guarded = guarded.value();
  const auto job = start(*on, 8, takes(500), 0);
  TicketProbeResult of_host;
  TicketProbeWork work;
  work.lock = on->lock->device();
  work.guarded = reinterpret_cast<TicketGuarded*>(on->guarded.address);
  work.probe = takes(500);
  work.group_count = 1;
  work.side = 1;
  work.results = &of_host;
  run_ticket_probe(work, 0);
  const TicketProbeResult of_device = end(*job);
  EXPECT_EQ(of_host.held + of_device.held, 9u * 500);
  EXPECT_EQ(of_host.wrong + of_device.wrong, 0u);
  EXPECT_EQ(guarded_of(*on).holds[0], 9u * 500);
}

}  // namespace
}  // namespace gcoord::netcore
