// Samples of the GPUs of this machine, read on a thread of their own.
//
// A call into the driver may hang for as long as a GPU does. So nobody else makes one: the thread
// reads every kGpuSampleInterval while somebody takes samples, and whoever takes one gets the
// newest there is, with its age. sample() and the destructor never wait for the driver.
// Thread-safe.
#pragma once

#include "server/gpu/nvml.h"
#include "server/platform/boot_time.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::server {

// Between the end of a reading and the next one: a node drains or stops soon after an event.
inline constexpr std::chrono::seconds kGpuSampleInterval{1};

// The thread reads on for so long after the last sample was taken.
inline constexpr std::chrono::seconds kGpuSampleDemand{300};

// A sample that is older says nothing of the GPUs of now: many readings in a row are missing.
inline constexpr std::chrono::seconds kGpuSampleStale{30};

// Why there are no readings, as far as that is known.
struct GpuSilence {
  Status ended;                         // Not OK: why the readings ended for good.
  std::chrono::microseconds in_call{};  // How long the reading under way has taken; 0: none is.
};

struct GpuSample {
  std::vector<GpuReading> gpus;   // Empty where the sample is stale.
  std::chrono::microseconds age;  // Since the reading of it began.
};

class GpuSampler {
 public:
  // For tests. clock_us: microseconds that only grow, for any thread.
  struct Time {
    std::function<std::uint64_t()> clock_us = boot_time_us;
    std::chrono::milliseconds interval = kGpuSampleInterval;
  };

  // `source` is called by the thread alone, the first time at once, and destroyed there; a failure
  // ends the readings for good.
  explicit GpuSampler(GpuSource source) : GpuSampler(std::move(source), Time{}) {}

  GpuSampler(GpuSource source, Time time);

  // A reading under way gets a tenth of a second; one that takes longer is left to its thread,
  // which ends without touching anything of the caller's once the driver lets it go.
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  // Nothing: none was read yet.
  std::optional<GpuSample> sample();

  // What the thread does now.
  GpuSilence silence() const;

 private:
  struct State;

  static void run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;  // The thread may outlive this.
  std::thread thread_;
};

}  // namespace gcoord::server
