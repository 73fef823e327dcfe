#include "server/gpu/metrics.h"

#include "server/gpu/nvml.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
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

// What a page shows of a GPU; nothing: not a word.
std::optional<double> shown(const MetricsRegistry& page, const char* name, const char* gpu) {
  std::optional<double> value;
  const auto take = [&](const auto& row) {
    if (row.name.name == std::string{"gcoord_gpu_"} + name && row.name.label_value == gpu) {
      value = static_cast<double>(row.metric.value()) * in_base_units(row.name.unit);
    }
  };
  page.visit(take, take, [](const auto&) {});
  return value;
}

TEST(GpuMetrics, ShowWhatEachGpuTellsAndLeaveOutTheRest) {
  MetricsRegistry page;
  show_gpus({.gpus = nvml_source(GCOORD_FAKE_NVML)().value(), .age = std::chrono::seconds{3}},
            page);
  EXPECT_EQ(shown(page, "busy_ratio", "GPU-first"), 0.73);
  EXPECT_EQ(shown(page, "memory_used_bytes", "GPU-first"), 400);
  EXPECT_EQ(shown(page, "power_watts", "GPU-first"), 350.5);
  EXPECT_EQ(shown(page, "temperature_celsius", "GPU-first"), 41);
  EXPECT_GE(shown(page, "energy_joules_total", "GPU-first"), 5.0);
  EXPECT_EQ(shown(page, "memory_bytes", "GPU-third"), 1000);
  EXPECT_EQ(shown(page, "power_watts", "GPU-third"), std::nullopt);
  EXPECT_EQ(shown(page, "sample_age_seconds", ""), 3);
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
