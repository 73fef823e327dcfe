// A driver that hangs holds up nobody but the thread that called it.
#include "server/gpu/sampler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::chrono::minutes kPatience{1};  // Only bounds a failure.

// A driver whose calls wait until a test lets them go, and what a test must outlive: it is shared
// with a thread that may be left alone.
class SlowDriver {
 public:
  GpuSource source() {
    return [calls = calls_]() -> Result<std::vector<GpuReading>> {
      const int call = ++calls->begun;
      while (calls->allowed.load() < call) {
        std::this_thread::yield();
      }
      return std::vector<GpuReading>{{.uuid = "GPU-a", .facts = {.busy_percent = 50}}};
    };
  }

  void allow(int count) { calls_->allowed = count; }

  int begun() const { return calls_->begun.load(); }

  ~SlowDriver() { allow(1'000'000); }

 private:
  struct Calls {
    std::atomic<int> begun{0};
    std::atomic<int> allowed{0};
  };

  std::shared_ptr<Calls> calls_ = std::make_shared<Calls>();
};

bool await(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

class GpuSamplerTest : public testing::Test {
 protected:
  GpuSampler::Time time() const {
    return {.clock_us = [now_us = now_us_] { return now_us->load(); },
            .interval = std::chrono::milliseconds{1}};
  }

  void pass(std::chrono::seconds time) { *now_us_ += std::chrono::microseconds(time).count(); }

  SlowDriver driver_;

 private:
  std::shared_ptr<std::atomic<std::uint64_t>> now_us_ =
      std::make_shared<std::atomic<std::uint64_t>>(1'000'000);
};

TEST_F(GpuSamplerTest, ADriverThatHangsDelaysNeitherASampleNorTheEnd) {
  GpuSampler sampler(driver_.source(), time());
  ASSERT_TRUE(await([&] { return driver_.begun() == 1; }));
  EXPECT_FALSE(sampler.sample().has_value());
  pass(std::chrono::seconds{31});
  EXPECT_EQ(sampler.silence().in_call, std::chrono::seconds{31});
  EXPECT_TRUE(sampler.silence().ended.ok());
}  // And here the driver hangs still.

TEST_F(GpuSamplerTest, TheNewestSampleIsServedWithItsAgeUntilItIsStale) {
  GpuSampler sampler(driver_.source(), time());
  driver_.allow(1);
  ASSERT_TRUE(await([&] { return sampler.sample().has_value(); }));
  pass(kGpuSampleStale);
  const auto old = sampler.sample();
  ASSERT_EQ(old->gpus.size(), 1u);
  EXPECT_EQ(old->gpus[0].facts.busy_percent, 50u);
  EXPECT_EQ(old->age, kGpuSampleStale);
  pass(std::chrono::seconds{1});
  const auto stale = sampler.sample();
  EXPECT_TRUE(stale->gpus.empty());
  EXPECT_EQ(stale->age, kGpuSampleStale + std::chrono::seconds{1});
}

TEST_F(GpuSamplerTest, TheDriverIsCalledWhileSomebodyTakesSamplesAndAgainWhenSomebodyDoes) {
  GpuSampler sampler(driver_.source(), time());
  driver_.allow(2);
  ASSERT_TRUE(await([&] { return driver_.begun() == 3; })) << "one after the other";
  pass(kGpuSampleDemand + std::chrono::seconds{1});
  driver_.allow(1'000'000);
  ASSERT_TRUE(await([&] { return sampler.sample()->age < kGpuSampleStale; })) << "read anew";
  EXPECT_FALSE(sampler.sample()->gpus.empty());
}

// A call that is under way when the sampler ends ends alone, and no other is made.
TEST_F(GpuSamplerTest, AThreadThatWasLeftAloneReadsNoMore) {
  auto dropped = std::make_shared<std::promise<void>>();
  auto gone = dropped->get_future();
  // Kept by the source alone: it goes when the thread has let the source go.
  std::shared_ptr<void> witness(nullptr, [dropped](void*) { dropped->set_value(); });
  {
    GpuSampler sampler([source = driver_.source(), held = witness]() mutable { return source(); },
                       time());
    ASSERT_TRUE(await([&] { return driver_.begun() == 1; }));
  }
  witness.reset();
  EXPECT_EQ(gone.wait_for(std::chrono::seconds{0}), std::future_status::timeout);
  driver_.allow(1);
  EXPECT_EQ(gone.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(driver_.begun(), 1);
}

TEST(GpuSampler, WithoutADriverThereIsNoSample) {
  std::promise<void> asked;
  GpuSampler sampler([&]() -> Result<std::vector<GpuReading>> {
    asked.set_value();
    return Status{StatusCode::Unavailable, "no NVML"};
  });
  ASSERT_EQ(asked.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_FALSE(sampler.sample().has_value());
  EXPECT_TRUE(await([&] { return !sampler.silence().ended.ok(); }));
  EXPECT_EQ(sampler.silence().ended.message(), "no NVML");
}

}  // namespace
}  // namespace gcoord::server
