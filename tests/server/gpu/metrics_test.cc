#include "server/gpu/metrics.h"

#include "server/gpu/nvml.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::server {
namespace {

// With two GPUs that this process may see (fake_nvml.cc).
std::unique_ptr<Nvml> fake() {
  auto opened = Nvml::open(GCOORD_FAKE_NVML);
  EXPECT_TRUE(opened.ok()) << opened.status().to_string();
  return std::move(opened).value();
}

TEST(Nvml, GpusThatMayBeSeenAreRead) {
  const auto nvml = fake();
  ASSERT_EQ(nvml->count(), 2u);
  EXPECT_EQ(nvml->uuid(0), "GPU-first");
  EXPECT_EQ(nvml->uuid(1), "GPU-third");
  const GpuFacts facts = nvml->read(0);
  EXPECT_EQ(facts.busy_percent, 73u);
  EXPECT_EQ(facts.memory_used_bytes, 400u);
  EXPECT_EQ(facts.memory_total_bytes, 1000u);
  EXPECT_EQ(facts.power_mw, 350'500u);
  EXPECT_EQ(facts.temperature_c, 41u);
}

TEST(Nvml, WhatAGpuDoesNotTellIsAbsent) {
  const GpuFacts facts = fake()->read(1);
  EXPECT_FALSE(facts.busy_percent.has_value());
  EXPECT_FALSE(facts.power_mw.has_value());
  EXPECT_FALSE(facts.energy_mj.has_value());
  EXPECT_FALSE(facts.temperature_c.has_value());
  EXPECT_EQ(facts.memory_used_bytes, 0u);
}

TEST(Nvml, WithoutTheLibraryThereIsNone) {
  EXPECT_EQ(Nvml::open("libno-such-library.so").status().code(), StatusCode::Unavailable);
  EXPECT_EQ(Nvml::open("libm.so.6").status().code(), StatusCode::Unavailable) << "is no NVML";
}

TEST(GpuMetrics, ShowWhatEachGpuTells) {
  MetricsRegistry registry;
  GpuMetrics metrics{registry, fake()};
  metrics.refresh();
  const auto named = [](const char* name, const char* gpu) {
    return MetricName{
        .name = std::string{"gcoord_gpu_"} + name, .label_key = "gpu", .label_value = gpu};
  };
  EXPECT_EQ(registry.gauge(named("busy_ratio", "GPU-first")).value(), 730) << "thousandths";
  EXPECT_EQ(registry.gauge(named("memory_used_bytes", "GPU-first")).value(), 400);
  EXPECT_EQ(registry.gauge(named("power_watts", "GPU-first")).value(), 350'500);
  EXPECT_EQ(registry.gauge(named("temperature_celsius", "GPU-first")).value(), 41);
  EXPECT_EQ(registry.gauge(named("memory_bytes", "GPU-third")).value(), 1000);
  EXPECT_EQ(registry.gauge(named("power_watts", "GPU-third")).value(), 0);
  const Counter& energy = registry.counter(named("energy_joules_total", "GPU-first"));
  const std::uint64_t before = energy.value();
  metrics.refresh();
  EXPECT_EQ(energy.value(), before + 1500);
}

// On a machine with a GPU: the real library.
TEST(Nvml, RealGpusTellTheirMemoryAndPower) {
  const auto nvml = Nvml::open();
  if (!nvml.ok() || nvml.value()->count() == 0) {
    GTEST_SKIP() << "no GPU here";
  }
  for (std::size_t gpu = 0; gpu < nvml.value()->count(); ++gpu) {
    EXPECT_TRUE(nvml.value()->uuid(gpu).starts_with("GPU-")) << nvml.value()->uuid(gpu);
    const GpuFacts facts = nvml.value()->read(gpu);
    EXPECT_GT(facts.memory_total_bytes.value_or(0), std::uint64_t{1} << 30);
    EXPECT_GT(facts.power_mw.value_or(0), 10'000u);
    EXPECT_LT(facts.power_mw.value_or(0), 2'000'000u);
    EXPECT_GT(facts.energy_mj.value_or(0), 0u);
    EXPECT_GT(facts.temperature_c.value_or(0), 10u);
    EXPECT_LE(facts.busy_percent.value_or(101), 100u);
  }
}

}  // namespace
}  // namespace gcoord::server
