// What a sweep asks of the CUDA runtime, without a GPU: of which memory it copies, how long it
// waits, and what it leaves behind when the device is full.
#include "common/device/device_errors.h"
#include "common/device/staged_copy.h"
#include "sessions/sweep_cuda_launch.h"
#include "tests/common/stub_cuda.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace gcoord::sessions {

// The kernels, which have nothing to do here.
void launch_renew(const RenewBatch& /*batch*/, cudaStream_t /*stream*/) {}

void launch_scan_due(const DueScan& /*scan*/, cudaStream_t /*stream*/) {}

void launch_take_due(const DueTake& /*take*/, cudaStream_t /*stream*/) {}

void launch_begin_graph(const WaitGraph& /*graph*/, cudaStream_t /*stream*/) {}

void launch_prune_graph(const WaitGraph& /*graph*/, cudaStream_t /*stream*/) {}

void launch_find_cycles(const WaitGraph& /*graph*/, cudaStream_t /*stream*/) {}

void launch_nothing(cudaStream_t /*stream*/) {}

namespace {

class SweepCudaCallsTest : public testing::Test {
 protected:
  SweepCudaCallsTest() { stub_cuda() = StubCuda{}; }

  void open() {
    auto opened = make_cuda_sweep_device(0);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    device_ = std::move(opened).value();
  }

  std::unique_ptr<SweepDevice> device_;
};

TEST_F(SweepCudaCallsTest, CopiesGoThroughPageLockedMemoryThatIsThereBefore) {
  constexpr std::size_t kBytes = 3 * kCopyStagingBytes + 5;
  ASSERT_NO_FATAL_FAILURE(open());
  const SweepMemory there = device_->reserve(kBytes).value();
  const std::size_t reservations = stub_cuda().reservations;
  std::vector<char> from(kBytes, 'x');
  std::vector<char> to(kBytes);
  from.back() = 'y';
  EXPECT_TRUE(device_->copy_in(there.get(), from.data(), kBytes).ok());
  EXPECT_TRUE(device_->copy_out(to.data(), there.get(), kBytes).ok());
  EXPECT_EQ(to, from);
  EXPECT_EQ(stub_cuda().pageable_copies, 0u);
  EXPECT_EQ(stub_cuda().copy_bytes_longest, kCopyStagingBytes);
  EXPECT_EQ(stub_cuda().reservations, reservations);
}

// Each within its limit, and what a dead device may still be at is not given back.
TEST_F(SweepCudaCallsTest, ADeadDeviceIsGivenUp) {
  ASSERT_NO_FATAL_FAILURE(open());
  SweepMemory there = device_->reserve(8).value();
  SweepMemory shared = device_->reserve_shared(8).value();
  stub_cuda().dead = true;
  const std::uint64_t word = 1;
  EXPECT_EQ(device_->copy_in(there.get(), &word, 8).detail(), kDeviceOverrun);
  EXPECT_EQ(stub_cuda().pageable_copies, 0u);
  there = nullptr;
  shared = nullptr;
  device_ = nullptr;
  EXPECT_EQ(stub_cuda().given_back, 0u);
}

TEST_F(SweepCudaCallsTest, WhatWasDealtWithIsNotFoundAtTheNextLaunch) {
  ASSERT_NO_FATAL_FAILURE(open());
  stub_cuda().full = true;
  EXPECT_EQ(device_->reserve(8).status().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(stub_cuda().last_error, cudaSuccess);
  EXPECT_EQ(device_->reserve_shared(8).status().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(stub_cuda().last_error, cudaSuccess);
  const Status looked = device_->scan_due({});
  EXPECT_TRUE(looked.ok()) << looked.to_string();
  EXPECT_EQ(stub_cuda().last_error, cudaSuccess);  // Nor that it was not ready at first.
}

TEST_F(SweepCudaCallsTest, WithoutMemoryForCopiesItIsFullAndLeavesNothing) {
  stub_cuda().full = true;
  EXPECT_EQ(make_cuda_sweep_device(0).status().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(stub_cuda().last_error, cudaSuccess);
  EXPECT_EQ(stub_cuda().given_back, 2u);  // The stream and the event.
}

}  // namespace
}  // namespace gcoord::sessions
