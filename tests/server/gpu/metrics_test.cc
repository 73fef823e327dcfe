#include "server/gpu/metrics.h"

#include "server/gpu/nvml.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
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

// What fake_nvml.cc is to say of the first GPU from now on.
class FakeWords {
 public:
  FakeWords() { ::setenv("GCOORD_FAKE_NVML", folder_.path("words").c_str(), 1); }

  ~FakeWords() { ::unsetenv("GCOORD_FAKE_NVML"); }

  void say(const std::string& words) { std::ofstream(folder_.path("words")) << words; }

 private:
  const ScratchFolder folder_;
};

TEST(Nvml, ErrorsThrottlingAndProcessesAreRead) {
  FakeWords words;
  words.say("corrected 5 uncorrected 2 recoveries 3 throttle 64 processes 2");
  const auto nvml = fake();
  const GpuFacts facts = nvml->read(0);
  EXPECT_EQ(facts.ecc_corrected, 5u);
  EXPECT_EQ(facts.ecc_uncorrected, 2u);
  EXPECT_EQ(facts.link_recoveries, 3u);
  EXPECT_EQ(facts.link_replays, 0u);
  EXPECT_EQ(facts.throttle, kThrottleHeat);
  EXPECT_EQ(facts.processes, 2u) << "and one more, by MPS";
  const GpuFacts silent = nvml->read(1);
  EXPECT_FALSE(silent.ecc_corrected.has_value());
  EXPECT_FALSE(silent.link_recoveries.has_value());
  EXPECT_FALSE(silent.throttle.has_value());
  EXPECT_FALSE(silent.processes.has_value());
}

// A sum over the links that are active would fall, and rise again with the old count.
TEST(Nvml, ALinkThatIsDownKeepsWhatItCounted) {
  FakeWords words;
  words.say("recoveries 5");
  const auto nvml = fake();
  EXPECT_EQ(nvml->read(0).link_recoveries, 5u);
  EXPECT_EQ(nvml->read(0).link_downs, 0u);
  words.say("recoveries 5 down 1");
  for (int reading = 0; reading < 2; ++reading) {
    const GpuFacts facts = nvml->read(0);
    EXPECT_EQ(facts.link_recoveries, 5u);
    EXPECT_EQ(facts.link_downs, 1u);
  }
  words.say("recoveries 7");
  EXPECT_EQ(nvml->read(0).link_recoveries, 7u);
  EXPECT_EQ(nvml->read(0).link_downs, 1u);
  EXPECT_FALSE(nvml->read(1).link_downs.has_value());
}

TEST(Nvml, XidsAreCountedOverReadings) {
  FakeWords words;
  GpuSource source = nvml_source(GCOORD_FAKE_NVML);
  EXPECT_TRUE(source().value()[0].xids.empty());
  words.say("xid 74\nxid 31\nxid 74\n");
  const auto read = source().value();
  EXPECT_EQ(read[0].xids, (std::map<std::uint32_t, std::uint64_t>{{31, 1}, {74, 2}}));
  EXPECT_TRUE(read[1].xids.empty());
  EXPECT_EQ(source().value()[0].xids, read[0].xids) << "none came since";
}

// A GPU that falls off the bus does not tell its UUID any more, and its last event is worth most.
TEST(Nvml, AGpuThatIsLostKeepsItsNameAndItsXids) {
  FakeWords words;
  GpuSource source = nvml_source(GCOORD_FAKE_NVML);
  EXPECT_FALSE(source().value()[0].facts.lost);
  // The library tells none twice in one process; here at least one is new.
  words.say("xid 79\nxid 79\nxid 79\nxid 79\nlost 1\n");
  const auto read = source().value();
  EXPECT_EQ(read[0].uuid, "GPU-first");
  EXPECT_TRUE(read[0].facts.lost);
  EXPECT_FALSE(read[0].facts.memory_used_bytes.has_value());
  EXPECT_EQ(read[0].xids.count(79), 1u) << "read with the loss";
  EXPECT_FALSE(read[1].facts.lost);
}

TEST(Nvml, AUuidIsWrittenAsTheDriverDoes) {
  std::array<std::uint8_t, 16> uuid{};
  for (std::size_t k = 0; k < uuid.size(); ++k) {
    uuid[k] = static_cast<std::uint8_t>(0xa0 + k);
  }
  EXPECT_EQ(gpu_uuid_text(uuid), "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
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
  EXPECT_EQ(shown(page, "nvlink_recoveries_total", "GPU-first"), 0);
  EXPECT_EQ(shown(page, "xids_total", "GPU-first"), 0);
  EXPECT_EQ(shown(page, "ecc_corrected_total", "GPU-third"), std::nullopt);
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
    EXPECT_TRUE(facts.ecc_uncorrected.has_value());
    EXPECT_TRUE(facts.throttle.has_value());
    EXPECT_TRUE(facts.processes.has_value());
  }
}

}  // namespace
}  // namespace gcoord::server
