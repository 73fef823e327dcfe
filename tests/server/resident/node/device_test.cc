// What a resident node lives on: the twin where no device is, the device that was named or nothing,
// and a twin whose calls fail when they are told to.
#include "server/resident/node/device.h"

#include "consensus/device/stepper_cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

ResidentDeviceOptions options_for(const DeviceChoice& device) {
  ResidentDeviceOptions options;
  options.device = device;
  options.node.shape = {
      .shard_count = 24, .stripe_count = 3, .log_slots = 128, .entries_max = 16, .wide_count = 64};
  options.node.ring_slots = 256;
  return options;
}

TEST(ResidentDevice, AutoIsTheTwinWithAReasonWhereNoDeviceIs) {
  if (consensus::cuda_device_count() != 0) {
    GTEST_SKIP() << "skipped: there is a device here";
  }
  const auto device = open_resident_device(options_for({.kind = DeviceChoice::Kind::Auto}));
  ASSERT_TRUE(device.ok()) << device.status().to_string();
  EXPECT_FALSE(device.value().facts.on_gpu());
  EXPECT_TRUE(device.value().turn->needs_calls());
  EXPECT_THAT(device.value().facts.why,
              StartsWith("auto: the host emulation (twin) of the resident turn, because "));
}

TEST(ResidentDevice, ADeviceByNameIsNeverReplaced) {
  const auto device =
      open_resident_device(options_for({.kind = DeviceChoice::Kind::Cuda, .index = 250}));
  ASSERT_FALSE(device.ok());
  const std::uint32_t detail = device.status().detail();
  EXPECT_TRUE(detail == kDeviceBuild || detail == kDeviceAbsent) << device.status().to_string();
  EXPECT_THAT(device.status().message(), HasSubstr("or give --device cpu"));
}

TEST(ResidentDevice, TheTwinByNameFailsAtEachCallThatItIsToldTo) {
  ResidentDeviceOptions options = options_for({.kind = DeviceChoice::Kind::Twin});
  const auto whole = open_resident_device(options);
  ASSERT_TRUE(whole.ok()) << whole.status().to_string();
  const std::uint64_t calls = whole.value().calls->made();
  EXPECT_GT(calls, 0u);
  options.fault.kind = DeviceFaultPlan::Kind::Call;
  for (options.fault.number = 1; options.fault.number <= calls; ++options.fault.number) {
    EXPECT_EQ(open_resident_device(options).status().detail(), kDeviceFailed)
        << options.fault.number;
  }
}

TEST(ResidentDeviceOnGpu, AutoTakesTheFirstDevice) {
  if (consensus::cuda_device_count() == 0) {
    GTEST_SKIP() << "skipped: no CUDA device here";
  }
  const auto device = open_resident_device(options_for({.kind = DeviceChoice::Kind::Auto}));
  ASSERT_TRUE(device.ok()) << device.status().to_string();
  EXPECT_TRUE(device.value().facts.on_gpu()) << device.value().facts.why;
  EXPECT_EQ(device.value().facts.index, 0u);
}

}  // namespace
}  // namespace gcoord::server
