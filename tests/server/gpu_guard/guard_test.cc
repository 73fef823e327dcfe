// What a node does about its GPU, by readings that a test writes.
#include "server/gpu_guard/guard.h"

#include "protocol/error_codes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::chrono::minutes kPatience{1};  // Only bounds a failure.

std::uint32_t number(protocol::ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

// The driver, as the sampler's thread sees it; shared with that thread.
struct Driver {
  std::mutex mutex;
  std::vector<GpuReading> gpus;
  std::uint64_t readings = 0;
};

class GpuGuardTest : public testing::Test {
 protected:
  void open(GpuGuardOptions options = {}) { open_as(std::move(options), "GPU-own"); }

  void open_as(GpuGuardOptions options, const std::string& uuid) {
    options.uuid = uuid;
    options.quiet_ms = 10'000;
    auto sampler = std::make_unique<GpuSampler>(
        [driver = driver_]() -> Result<std::vector<GpuReading>> {
          const std::lock_guard lock(driver->mutex);
          ++driver->readings;
          return driver->gpus;
        },
        GpuSampler::Time{.clock_us = [now_us = now_us_] { return now_us->load(); },
                         .interval = std::chrono::milliseconds{1}});
    guard_ = std::make_unique<GpuGuard>(std::move(options), std::move(sampler), metrics_);
  }

  // The readings from now on; returns when one of them is the newest.
  void show(std::vector<GpuReading> gpus) {
    std::uint64_t before = 0;
    {
      const std::lock_guard lock(driver_->mutex);
      driver_->gpus = std::move(gpus);
      before = driver_->readings;
    }
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (std::uint64_t now = before; now < before + 2;) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::yield();
      const std::lock_guard lock(driver_->mutex);
      now = driver_->readings;
    }
  }

  void look(std::uint64_t now_ms) { guard_->look(now_ms); }

  std::uint64_t decided(const char* action) {
    return metrics_.counter({"gcoord_server_gpu_decisions_total", "", "action", action}).value();
  }

  static GpuReading reading(std::map<std::uint32_t, std::uint64_t> xids = {}) {
    return {.uuid = "GPU-own", .facts = {.processes = 1}, .xids = std::move(xids)};
  }

  MetricsRegistry metrics_;
  std::shared_ptr<Driver> driver_ = std::make_shared<Driver>();
  std::shared_ptr<std::atomic<std::uint64_t>> now_us_ =
      std::make_shared<std::atomic<std::uint64_t>>(1'000'000);
  std::unique_ptr<GpuGuard> guard_;
};

TEST_F(GpuGuardTest, ALinkErrorDrainsUntilItIsOver) {
  open();
  show({reading()});
  look(0);
  EXPECT_FALSE(guard_->drains());
  EXPECT_EQ(guard_->trouble(), "");
  show({reading({{74, 1}})});
  look(1000);
  EXPECT_TRUE(guard_->drains());
  EXPECT_TRUE(guard_->end().ok());
  EXPECT_EQ(guard_->trouble(), "link-error (drain): Xid 74");
  EXPECT_EQ(decided("drain"), 1u);
  EXPECT_EQ(metrics_.gauge({"gcoord_server_gpu_draining", "", "", ""}).value(), 1);
  const std::string report = guard_->report().dump();
  EXPECT_NE(report.find("\"draining\":true"), std::string::npos) << report;
  EXPECT_NE(report.find("\"fault\":\"link-error\""), std::string::npos) << report;
  look(11'000);
  EXPECT_FALSE(guard_->drains());
  EXPECT_EQ(metrics_.gauge({"gcoord_server_gpu_draining", "", "", ""}).value(), 0);
}

TEST_F(GpuGuardTest, FaultsOfAnotherGpuAreNotTheNodes) {
  open();
  GpuReading other = reading({{79, 1}});
  other.uuid = "GPU-other";
  show({other, reading()});
  look(0);
  EXPECT_TRUE(guard_->end().ok());
}

TEST_F(GpuGuardTest, AGpuThatWasNeverShownIsNoFault) {
  open();
  GpuReading other = reading({{79, 1}});
  other.uuid = "GPU-other";
  show({other});
  look(1000);
  EXPECT_TRUE(guard_->end().ok());
  EXPECT_FALSE(guard_->drains());
}

TEST_F(GpuGuardTest, AGpuThatIsNotShownAnyMoreIsLost) {
  open();
  show({reading()});
  look(0);
  show({});
  look(1000);
  EXPECT_TRUE(is_gpu_stop(guard_->end()));
  EXPECT_NE(guard_->end().message().find("lost"), std::string::npos);
}

TEST_F(GpuGuardTest, ADrainEndsAlsoWhenTheGpuIsNotShownAnyMore) {
  open({.policy = parse_gpu_policy("xid-fatal=log").value()});
  show({reading()});
  look(0);
  show({reading({{74, 1}})});
  look(1000);
  ASSERT_TRUE(guard_->drains());
  show({});
  look(2000);
  EXPECT_TRUE(guard_->drains());
  look(11'000);
  EXPECT_FALSE(guard_->drains());
}

TEST_F(GpuGuardTest, AFatalXidEndsTheNodeAndWrongMemoryOpensItAnew) {
  open();
  show({reading({{48, 1}})});
  look(0);
  EXPECT_TRUE(is_context_restart(guard_->end()));
  EXPECT_FALSE(is_gpu_stop(guard_->end()));
  open();
  show({reading({{48, 1}, {79, 1}})});
  look(0);
  EXPECT_TRUE(is_gpu_stop(guard_->end())) << "the stronger action counts";
  EXPECT_EQ(guard_->end().detail(), number(protocol::ErrorCode::GpuStopped));
  EXPECT_NE(guard_->end().message().find("Xid 79"), std::string::npos);
}

TEST_F(GpuGuardTest, ThePolicyDecides) {
  open({.policy = parse_gpu_policy("xid-fatal=ignore,link-error=log").value()});
  show({reading({{79, 1}, {74, 1}})});
  look(0);
  EXPECT_TRUE(guard_->end().ok());
  EXPECT_FALSE(guard_->drains());
  EXPECT_EQ(decided("ignore"), 1u);
  EXPECT_EQ(decided("log"), 1u);
  EXPECT_EQ(guard_->trouble(), "link-error (log): Xid 74");
}

TEST_F(GpuGuardTest, AReadingThatStaysAwayIsADriverThatHangs) {
  open();
  show({reading()});
  look(0);
  driver_->mutex.lock();  // The thread's next call does not return.
  *now_us_ += std::chrono::microseconds(kGpuSampleStale + std::chrono::seconds{1}).count();
  look(31'000);
  look(32'000);
  look(31'000 + kGpuHungMs - 1);
  EXPECT_FALSE(guard_->drains()) << "this process may have stood still";
  look(31'000 + kGpuHungMs);
  EXPECT_TRUE(guard_->drains());
  EXPECT_EQ(guard_->trouble(), "hung (drain): the driver answers no reading");
  driver_->mutex.unlock();
}

TEST_F(GpuGuardTest, AProcessThatWasPausedIsNoDriverThatHangs) {
  open();
  show({reading()});
  look(0);
  for (const std::uint64_t pause : {1u, 2u}) {
    driver_->mutex.lock();
    *now_us_ += std::chrono::microseconds(kGpuSampleStale + std::chrono::seconds{1}).count();
    look(pause * 40'000);
    look(pause * 40'000 + 1);
    driver_->mutex.unlock();
    show({reading()});
    show({reading()});  // The first one may have begun before the pause.
    look(pause * 40'000 + 1000);
  }
  EXPECT_FALSE(guard_->drains());
  EXPECT_EQ(decided("drain"), 0u);
}

TEST_F(GpuGuardTest, AFirstCallThatHangsIsSaidAndTheNodeGoesOn) {
  std::unique_lock hangs(driver_->mutex);
  open({.policy = parse_gpu_policy("hung=stop").value()});
  // The thread may begin its call after this line, so the test looks until the call has taken long.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (guard_->report()["blind"].is_null()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    *now_us_ += 1'000'000;
    look(now_us_->load() / 1000);
    std::this_thread::yield();
  }
  EXPECT_NE(guard_->trouble().find("has not answered the first call"), std::string::npos);
  EXPECT_TRUE(guard_->end().ok());
  EXPECT_FALSE(guard_->drains());
  hangs.unlock();
  show({reading()});
  look(now_us_->load() / 1000);
  EXPECT_TRUE(guard_->report()["blind"].is_null());
  EXPECT_EQ(guard_->trouble(), "");
}

TEST_F(GpuGuardTest, ADriverThatAnswersWithoutTheGpuDoesNotHangAnyMore) {
  std::unique_lock hangs(driver_->mutex);
  open({});
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (guard_->trouble().empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    *now_us_ += 1'000'000;
    look(now_us_->load() / 1000);
    std::this_thread::yield();
  }
  hangs.unlock();
  GpuReading other = reading();
  other.uuid = "GPU-other";
  show({other});
  look(now_us_->load() / 1000);
  EXPECT_EQ(guard_->report()["blind"].dump().find("first call"), std::string::npos);
  EXPECT_NE(guard_->report()["blind"].dump().find("does not show"), std::string::npos);
  EXPECT_EQ(guard_->trouble(), "");
}

TEST_F(GpuGuardTest, ANodeOnNoGpuAsksForNoReadings) {
  open_as({}, "");
  show({reading({{79, 1}})});
  look(0);
  EXPECT_TRUE(guard_->end().ok());
  EXPECT_NE(guard_->report().dump().find("\"age_ms\":null"), std::string::npos);
}

TEST_F(GpuGuardTest, WhoSharesTheGpuIsToldAndHeldToFewerStripes) {
  GpuReading shared = reading();
  shared.facts.processes = 3;
  open({.stripes = kSharedStripesMax});
  show({shared});
  look(0);
  EXPECT_TRUE(guard_->end().ok());
  EXPECT_EQ(metrics_.gauge({"gcoord_server_gpu_shared", "", "", ""}).value(), 1);
  EXPECT_NE(guard_->report().dump().find("\"shared\":true"), std::string::npos);
  open({.stripes = kSharedStripesMax + 1});
  show({shared});
  look(0);
  EXPECT_EQ(guard_->end().detail(), number(protocol::ErrorCode::GpuShared));
  open({.stripes = kSharedStripesMax + 1, .reopened = true});
  show({shared});
  look(0);
  EXPECT_TRUE(guard_->end().ok()) << "it was there before";
  open({.stripes = kSharedStripesMax + 1});
  show({reading()});
  look(0);
  show({shared});
  look(1000);
  EXPECT_TRUE(guard_->end().ok()) << "who comes later ends nobody";
}

TEST(GpuGuard, WithoutADriverTheReportSaysWhy) {
  MetricsRegistry metrics;
  GpuGuard guard({.uuid = "GPU-own"},
                 std::make_unique<GpuSampler>([]() -> Result<std::vector<GpuReading>> {
                   return Status{StatusCode::Unavailable, "no NVML"};
                 }),
                 metrics);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (guard.report()["blind"].is_null()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    guard.look(0);
    std::this_thread::yield();
  }
  EXPECT_EQ(guard.report()["blind"].dump(), "\"no NVML\"");
  EXPECT_EQ(guard.trouble(), "");
}

TEST_F(GpuGuardTest, WithoutASamplerNothingHappens) {
  GpuGuard guard({}, nullptr, metrics_);
  guard.look(0);
  EXPECT_TRUE(guard.end().ok());
  EXPECT_FALSE(guard.drains());
  EXPECT_NE(guard.report().dump().find("\"reading\":null"), std::string::npos);
}

}  // namespace
}  // namespace gcoord::server
