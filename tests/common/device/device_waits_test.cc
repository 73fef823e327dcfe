// Copies to a device and waits for its kernels, without a GPU: of which memory they copy, how long
// they wait, and what they leave behind when the device is dead.
#include "common/device/device_arena.h"
#include "common/device/device_errors.h"
#include "common/device/device_wait.h"
#include "common/device/staged_copy.h"
#include "tests/common/stub_cuda.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord {
namespace {

class DeviceWaitsTest : public testing::Test {
 protected:
  DeviceWaitsTest() {
    // What was page-locked before stays so: copies keep it for the life of the process.
    const auto locked = stub_cuda().locked;
    stub_cuda() = StubCuda{};
    stub_cuda().locked = locked;
    reset_device_waits([this] { return now_us_ += 1000; });
  }

  ~DeviceWaitsTest() override { reset_device_waits(); }

  std::uint64_t now_us_ = 0;  // A millisecond passes with each look at it.
};

TEST_F(DeviceWaitsTest, CopiesGoThroughPageLockedMemoryThatIsThereBefore) {
  constexpr std::size_t kBytes = 2 * kCopyStagingBytes + 7;
  ASSERT_TRUE(prepare_device_copies().ok());
  auto arena = DeviceArena::make(0, DeviceArena::bytes_for<char>(kBytes)).value();
  auto* there = arena->column<char>(kBytes);
  const std::size_t reservations = stub_cuda().reservations;
  std::vector<char> from(kBytes, 'x');
  std::vector<char> to(kBytes);
  from.front() = 'a';
  from.back() = 'z';
  EXPECT_TRUE(copy_to_device(there, from.data(), kBytes).ok());
  EXPECT_TRUE(copy_to_host(to.data(), there, kBytes).ok());
  EXPECT_EQ(to, from);
  EXPECT_EQ(stub_cuda().pageable_copies, 0u);
  EXPECT_EQ(stub_cuda().copy_bytes_longest, kCopyStagingBytes);
  EXPECT_EQ(stub_cuda().reservations, reservations);
}

TEST_F(DeviceWaitsTest, ACopyOfADeadDeviceIsGivenUpWithinItsLimit) {
  auto arena = DeviceArena::make(0, DeviceArena::bytes_for<std::uint64_t>(1)).value();
  auto* there = arena->column<std::uint64_t>(1);
  const std::uint64_t word = 1;
  stub_cuda().dead = true;
  const Status copied = copy_to_device(there, &word, 1);
  EXPECT_EQ(copied.code(), StatusCode::DeadlineExceeded);
  EXPECT_EQ(copied.detail(), kDeviceOverrun);
  EXPECT_GE(now_us_, std::uint64_t{kDeviceWaitMs} * 1000);
  EXPECT_LE(now_us_, std::uint64_t{kDeviceWaitMs} * 1000 + 10'000);
}

// It may be at work in what was copied from, and in the arena.
TEST_F(DeviceWaitsTest, BehindADeadDeviceNothingIsCopiedOrGivenBack) {
  auto arena = DeviceArena::make(0, DeviceArena::bytes_for<std::uint64_t>(1)).value();
  auto* there = arena->column<std::uint64_t>(1);
  std::uint64_t word = 1;
  stub_cuda().dead = true;
  EXPECT_EQ(synchronize_device("a kernel", 5).detail(), kDeviceOverrun);
  const std::uint64_t before_us = now_us_;
  stub_cuda().copy_bytes_longest = 0;
  EXPECT_EQ(copy_to_host(&word, there, 1).detail(), kDeviceOverrun);
  EXPECT_EQ(synchronize_device("another kernel").detail(), kDeviceOverrun);
  EXPECT_EQ(stub_cuda().copy_bytes_longest, 0u);
  EXPECT_EQ(now_us_, before_us) << "waited again";
  arena = nullptr;
  EXPECT_EQ(stub_cuda().given_back, 0u);
}

TEST_F(DeviceWaitsTest, AKernelMayTakeItsTime) {
  EXPECT_TRUE(synchronize_device("a kernel").ok());
  stub_cuda().dead = true;
  const Status overrun = synchronize_device("a slow kernel", 250);
  EXPECT_EQ(overrun.detail(), kDeviceOverrun);
  EXPECT_NE(overrun.message().find("a slow kernel did not end within 250 ms"), std::string::npos)
      << overrun.message();
}

TEST_F(DeviceWaitsTest, ADeviceThatLivesGivesItsMemoryBack) {
  auto arena = DeviceArena::make(0, DeviceArena::bytes_for<std::uint64_t>(1)).value();
  arena = nullptr;
  EXPECT_EQ(stub_cuda().given_back, 1u);
}

}  // namespace
}  // namespace gcoord
