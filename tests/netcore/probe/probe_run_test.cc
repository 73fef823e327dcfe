// A probe's kernel and the wait for it, without a GPU.
#include "netcore/probe/probe_run.h"

#include "common/device/device_errors.h"
#include "tests/common/stub_cuda.h"

#include <gtest/gtest.h>

#include <memory>

namespace gcoord::netcore {
namespace {

constexpr ProbeRunOptions kShort{.result_bytes = 8, .timeout_ns = 1'000'000, .margin_ms = 1};

class ProbeRunTest : public testing::Test {
 protected:
  ProbeRunTest() { stub_cuda() = StubCuda{}; }

  static std::unique_ptr<ProbeRun> start() {
    auto run = ProbeRun::start(kShort, [](cudaStream_t /*stream*/, void* results) {
      *static_cast<std::uint64_t*>(results) = 7;
      return cudaSuccess;
    });
    EXPECT_TRUE(run.ok()) << run.status().to_string();
    return std::move(run).value();
  }
};

TEST_F(ProbeRunTest, AProbeThatEndsGivesItsResultsAndItsMemoryBack) {
  auto run = start();
  ASSERT_TRUE(run->finish().ok());
  EXPECT_EQ(*static_cast<const std::uint64_t*>(run->results()), 7u);
  run = nullptr;
  EXPECT_EQ(stub_cuda().given_back, 2u);  // Memory and stream.
}

// Two milliseconds, and what the device may still write to is kept.
TEST_F(ProbeRunTest, AProbeOnADeadDeviceIsGivenUp) {
  auto run = start();
  stub_cuda().dead = true;
  EXPECT_FALSE(run->done());
  const Status given_up = run->finish();
  EXPECT_EQ(given_up.code(), StatusCode::DeadlineExceeded);
  EXPECT_EQ(given_up.detail(), kDeviceOverrun);
  EXPECT_EQ(run->finish().detail(), kDeviceOverrun);
  run = nullptr;
  EXPECT_EQ(stub_cuda().given_back, 0u);
}

TEST_F(ProbeRunTest, AProbeThatNobodyFinishesIsNotWaitedForForEver) {
  auto run = start();
  stub_cuda().dead = true;
  run = nullptr;
  EXPECT_EQ(stub_cuda().given_back, 0u);
}

}  // namespace
}  // namespace gcoord::netcore
