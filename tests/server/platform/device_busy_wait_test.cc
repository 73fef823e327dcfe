// A node's start while its device is still busy with processes that died.
#include "server/platform/device_busy_wait.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::server {
namespace {

// A device that answers with `error` for its first `failures` openings.
struct ShyDevice {
  Result<int> open() {
    ++opened;
    if (opened <= failures) {
      return error;
    }
    return 7;
  }

  int failures = 0;
  Status error{StatusCode::Unavailable, "all CUDA-capable devices are busy", kDeviceBusy};
  int opened = 0;
};

struct Waited {
  Result<int> run(ShyDevice& device) {
    DeviceBusyWait patience;
    patience.pause = [this](std::chrono::milliseconds time) { total += time; };
    patience.notice = [this](const std::string& message) { notices.push_back(message); };
    limit = patience.limit;
    return open_patiently(patience, [&device] { return device.open(); });
  }

  std::chrono::milliseconds total{0};
  std::chrono::milliseconds limit{0};
  std::vector<std::string> notices;
};

TEST(DeviceBusyWait, ADeviceThatIsGivenBackIsWaitedForAndSaidOnce) {
  ShyDevice device{.failures = 5};
  Waited waited;
  const auto opened = waited.run(device);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened.value(), 7);
  EXPECT_EQ(device.opened, 6);
  ASSERT_EQ(waited.notices.size(), 1u);
  EXPECT_NE(waited.notices[0].find("busy"), std::string::npos);
}

TEST(DeviceBusyWait, ADeviceThatStaysTakenIsRefusedWithItsNumberWithinTheBound) {
  ShyDevice device{.failures = 1'000'000};
  Waited waited;
  const auto opened = waited.run(device);
  EXPECT_EQ(opened.status().detail(), kDeviceBusy);
  EXPECT_EQ(waited.total, waited.limit);
  EXPECT_EQ(waited.notices.size(), 1u);
}

TEST(DeviceBusyWait, AnyOtherErrorIsNotTriedAgain) {
  for (const std::uint32_t detail : {kDeviceAbsent, kDeviceMemory, kDeviceFailed}) {
    ShyDevice device{.failures = 1, .error = {StatusCode::Unavailable, "no", detail}};
    Waited waited;
    EXPECT_EQ(waited.run(device).status().detail(), detail);
    EXPECT_EQ(device.opened, 1);
    EXPECT_TRUE(waited.notices.empty());
  }
}

}  // namespace
}  // namespace gcoord::server
