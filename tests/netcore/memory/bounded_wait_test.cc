#include "netcore/memory/bounded_wait.h"

#include "tests/netcore/gpu_channel/lane_samples.h"

#include <gtest/gtest.h>

#include <thread>

namespace gcoord::netcore {
namespace {

WaitStatus wait_in_vain(const GpuChannelDevice& channel, std::uint64_t timeout_ns) {
  return bounded_wait(gate_of(channel, deadline_after(timeout_ns)), [] { return false; });
}

TEST(BoundedWait, EndsAtItsDeadlineWhenNobodyComes) {
  LoopbackSample world;
  const std::uint64_t began_ns = device_now_ns();
  EXPECT_EQ(wait_in_vain(world.first(), 2'000'000), WaitStatus::TimedOut);
  EXPECT_GE(device_now_ns() - began_ns, 2'000'000u);
}

TEST(BoundedWait, AnAttemptThatSucceedsNeedsNoTime) {
  LoopbackSample world;
  EXPECT_EQ(bounded_wait(gate_of(world.first(), 0), [] { return true; }), WaitStatus::Ready);
}

TEST(BoundedWait, LeavesWhenTheHostAborts) {
  LoopbackSample world;
  std::thread host{[&] { EXPECT_TRUE(world.pair.first->abort().ok()); }};
  EXPECT_EQ(wait_in_vain(world.first(), 60 * kSecondNs), WaitStatus::Aborted);
  host.join();
}

TEST(BoundedWait, LeavesWhenTheEpochEnds) {
  LoopbackSample world;
  std::thread host{[&] { EXPECT_TRUE(world.pair.first->close().ok()); }};
  EXPECT_EQ(wait_in_vain(world.first(), 60 * kSecondNs), WaitStatus::EpochChanged);
  host.join();
}

TEST(BoundedWait, LeavesWhenAnotherEndFoundThePeerOut) {
  LoopbackSample world;
  reset_channel(wires_of(world.first(), Band::Control, 0), DropReason::BadLength);
  EXPECT_EQ(wait_in_vain(world.first(), 60 * kSecondNs), WaitStatus::ChannelReset);
  EXPECT_EQ(world.pair.first->fault(), DropReason::BadLength);
}

}  // namespace
}  // namespace gcoord::netcore
