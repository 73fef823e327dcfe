// The watch over the GPU that a node works on.
//
// Once a second it takes the newest reading (server/gpu), decides by the operator's policy
// (server/gpu_policy), logs each decision with its number, counts it, and shows what lasts. While
// drains() the node gives its leaderships away; once end() is not OK the node hands over and ends
// with it: GpuStopped for good, GpuContextRestarted to be opened again. It makes no call into the
// driver, so one that hangs holds it up for nothing. The loop's thread; but sampler() for any.
#pragma once

#include "common/host/metrics.h"
#include "common/json/value.h"
#include "common/status.h"
#include "server/gpu/sampler.h"
#include "server/gpu_policy/judge.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::server {

// Processes that share a GPU without MPS have it by slices of time: a node that is to have more
// stripes than three nodes find room for (docs/reference/devices.md) does not begin beside others.
inline constexpr std::uint32_t kSharedStripesMax = 256;

// A driver hangs when so many looks in a row, over so long, find no reading that is new enough. One
// look alone says little: a process or a machine that was paused finds its newest reading old.
inline constexpr std::uint32_t kGpuHungLooks = 3;
inline constexpr std::uint64_t kGpuHungMs = 5000;

struct GpuGuardOptions {
  GpuPolicy policy;
  std::uint64_t quiet_ms = 600'000;
  std::string uuid;           // Of the node's GPU, as NVML has it; empty: not known.
  bool takes_first = false;   // Without one: the first GPU that NVML shows. For tests.
  std::uint32_t stripes = 0;  // That the operator asked for, of a resident turn; 0: for none.
  bool reopened = false;      // By a process that was there before others came.
};

class GpuGuard {
 public:
  // The registry outlives it. Without a sampler nothing is read, and nothing ever happens.
  GpuGuard(GpuGuardOptions options, std::unique_ptr<GpuSampler> sampler, MetricsRegistry& metrics);

  // nullptr: there is none.
  GpuSampler* sampler() const { return sampler_.get(); }

  // Once a second. now_ms: of a clock that only grows.
  void look(std::uint64_t now_ms);

  // Whether the node is to lead nothing now.
  bool drains() const { return judge_.drains(); }

  // Why the node is to end; OK: it is not.
  const Status& end() const { return end_; }

  // For the operator, what lasts and what the node does about it; empty: the GPU is well.
  std::string trouble() const;

  // The report of a node, "gpu"; docs/reference/schemas/gcoordctl.json has it.
  Json report() const;

 private:
  struct Metrics {
    explicit Metrics(MetricsRegistry& registry);
    std::array<Counter*, kGpuActions> decisions;
    Gauge& draining;
    Gauge& shared;
  };

  const GpuReading* own(const GpuSample& sample) const;
  // Before the first reading: says once why there is none, when it is known or takes too long.
  void look_at_silence();
  void note_blind(std::string why);
  // Notes a look that found no reading that is new enough.
  bool is_hung(std::uint64_t now_ms);
  void carry_out(const GpuDecision& decision);
  void look_at_sharing(const GpuReading& reading);

  bool is_shared() const { return processes_ > 1; }

  const GpuGuardOptions options_;
  const std::unique_ptr<GpuSampler> sampler_;
  GpuJudge judge_;
  Metrics metrics_;
  std::array<std::uint64_t, kGpuActions> decided_{};
  std::optional<GpuReading> newest_;
  std::optional<std::uint64_t> age_ms_;
  std::uint64_t now_ms_ = 0;
  std::uint32_t processes_ = 0;    // With contexts of their own on the GPU.
  bool looked_ = false;            // At a reading of the node's GPU.
  std::uint32_t stale_looks_ = 0;  // In a row.
  std::uint64_t stale_since_ms_ = 0;
  std::string blind_;  // Why nothing can be judged; empty: something is, or it is too early to say.
  bool hangs_ = false;  // That is so because the driver's first answer does not come.
  Status end_;
};

// Whether the node ended to be opened again, with the device's context closed between.
bool is_context_restart(const Status& ended);

// Whether its GPU is not to be touched any more: the driver may not let the process go.
bool is_gpu_stop(const Status& ended);

}  // namespace gcoord::server
