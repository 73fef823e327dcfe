// One test body that runs on the host everywhere, and in a kernel where there is a device.
//
//   HD_TEST(Quorum, OfThreeIsTwo) {
//     const Configuration configuration = three_voters(seed);
//     HD_EXPECT(is_quorum(configuration, 0b011));
//   }
//
// makes two tests, OfThreeIsTwo/OnHost and .../OnDevice. The body is a function of `seed` and is
// called once per seed, by a thread each on the device, so that it can be a property as well as an
// example; it may use host+device code only. A failed expectation names its line and seed. Without
// a device, or in a build without CUDA, the second test is skipped and says why. A file with such
// tests is listed with gcoord_hd_test, which compiles it with nvcc where there is one.
#pragma once

#include "common/device/device_atomic.h"
#include "common/hd.h"

#include <gtest/gtest.h>

#include <cstdint>

#if defined(__CUDACC__)
#include "common/device/device_arena.h"
#include "common/tables/column_arena.h"
#endif

namespace gcoord::test {

// Calls of one body: enough for every branch of a property, and several blocks of threads.
inline constexpr std::uint32_t kHdSeeds = 4096;

// What the calls of one body found. Shared by all threads of a kernel.
struct HdReport {
  std::uint32_t calls = 0;
  std::uint32_t failures = 0;
  std::uint32_t line = 0;  // Of one of the failures.
  std::uint32_t seed = 0;
};

// How one call of a body reports.
struct HdCheck {
  HdReport* report;
  std::uint32_t seed;

  GCOORD_HD void expect(bool condition, std::uint32_t line) const {
    if (!condition && relaxed_add(report->failures, 1) == 0) {
      report->line = line;
      report->seed = seed;
    }
  }
};

template <typename Body>
GCOORD_HD void call_body(HdReport* report, std::uint32_t seed) {
  relaxed_add(report->calls, 1);
  Body{}.run(HdCheck{report, seed}, seed);
}

inline void judge(const HdReport& report) {
  EXPECT_EQ(report.calls, kHdSeeds);
  EXPECT_EQ(report.failures, 0u) << "the first of them in line " << report.line << " with seed "
                                 << report.seed;
}

template <typename Body>
void run_on_host() {
  HdReport report;
  for (std::uint32_t seed = 0; seed < kHdSeeds; ++seed) {
    call_body<Body>(&report, seed);
  }
  judge(report);
}

#if defined(__CUDACC__)
// For all calls of a body, also under a tool that checks each access.
inline constexpr std::uint32_t kBodyMs = 300'000;

template <typename Body>
__global__ void call_bodies(HdReport* report) {
  call_body<Body>(report, blockIdx.x * blockDim.x + threadIdx.x);
}

template <typename Body>
void run_on_device() {
  auto arena = DeviceArena::make(0, ColumnArena::bytes_for<HdReport>(1));
  if (!arena.ok() && arena.status().code() == StatusCode::Unavailable) {
    GTEST_SKIP() << "skipped: " << arena.status().message();
  }
  ASSERT_TRUE(arena.ok()) << arena.status().message();
  constexpr std::uint32_t kThreads = 128;
  HdReport* on_device = arena.value()->column<HdReport>(1);
  call_bodies<Body><<<kHdSeeds / kThreads, kThreads>>>(on_device);
  const Status done = synchronize_device("a test body", kBodyMs);
  ASSERT_TRUE(done.ok()) << done.message();
  HdReport report;
  const Status copied = copy_to_host(&report, on_device, 1);
  ASSERT_TRUE(copied.ok()) << copied.message();
  judge(report);
}
#else
template <typename Body>
void run_on_device() {
  GTEST_SKIP() << "skipped: this build has no device code; configure with --preset cuda";
}
#endif

}  // namespace gcoord::test

#define HD_TEST(suite, name)                                                               \
  struct suite##name##Body {                                                               \
    GCOORD_HD void run(const ::gcoord::test::HdCheck& hd_check, std::uint32_t seed) const; \
  };                                                                                       \
  TEST(suite, name##OnHost) {                                                              \
    ::gcoord::test::run_on_host<suite##name##Body>();                                      \
  }                                                                                        \
  TEST(suite, name##OnDevice) {                                                            \
    ::gcoord::test::run_on_device<suite##name##Body>();                                    \
  }                                                                                        \
  GCOORD_HD inline void suite##name##Body::run(                                            \
      [[maybe_unused]] const ::gcoord::test::HdCheck& hd_check,                            \
      [[maybe_unused]] std::uint32_t seed) const

#define HD_EXPECT(condition) hd_check.expect((condition), __LINE__)
