// GPUs as NVIDIA's management library sees them: use, memory, power, energy, temperature, errors of
// memory and links, throttling, processes, and the Xid events of the driver.
//
// The library comes with the driver and is opened at run time, so that no build needs it. Its
// interface is documented in the NVML API Reference Guide. Thread-safe, as the library is.
#pragma once

#include "common/status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

// A GPU does not tell what its model or the rights of the process keep from it.
struct GpuFacts {
  bool lost = false;  // NVML says so: it fell off the bus, or does not answer the driver.
  std::optional<std::uint32_t> busy_percent;  // Of the last sample period in which a kernel ran.
  std::optional<std::uint64_t> memory_used_bytes;
  std::optional<std::uint64_t> memory_total_bytes;
  std::optional<std::uint64_t> power_mw;   // Milliwatts, now.
  std::optional<std::uint64_t> energy_mj;  // Millijoules since the driver was loaded.
  std::optional<std::uint32_t> temperature_c;
  // Errors of memory since the driver was loaded.
  std::optional<std::uint64_t> ecc_corrected;
  std::optional<std::uint64_t> ecc_uncorrected;
  // Of all NVLinks that were ever active together (link_counts.h): transfers that were repeated,
  // links that had to recover, frames with a wrong checksum, and times that a link went down.
  std::optional<std::uint64_t> link_replays;
  std::optional<std::uint64_t> link_recoveries;
  std::optional<std::uint64_t> link_crc_errors;
  std::optional<std::uint64_t> link_downs;
  std::optional<std::uint64_t> throttle;  // Why its clocks are low now: bits of GpuThrottle.
  // Processes with a context of their own there, this one too; those of MPS share its server's.
  std::optional<std::uint32_t> processes;
};

// As NVML has them (nvmlClocksEventReasons).
enum GpuThrottle : std::uint64_t {
  kThrottlePowerCap = 0x4,
  kThrottleHardware = 0x8,
  kThrottleHeatBySoftware = 0x20,
  kThrottleHeat = 0x40,
  kThrottlePowerBrake = 0x80,
};

// One GPU, as it was read.
struct GpuReading {
  std::string uuid;  // As Nvml::uuid().
  GpuFacts facts;
  // Xid events by number, since the library was opened ("Xid Errors", NVIDIA's documentation).
  std::map<std::uint32_t, std::uint64_t> xids;
};

// A UUID as NVML writes it: "GPU-" and five groups of digits.
std::string gpu_uuid_text(const std::array<std::uint8_t, 16>& uuid);

// Reads all GPUs. A call takes as long as the driver likes, which may be for ever. A failure: there
// will be nothing to read.
using GpuSource = std::function<Result<std::vector<GpuReading>>()>;

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// Of NVML, which the first call opens. `library` as for Nvml::open().
GpuSource nvml_source(std::string library = kNvmlLibrary);

class Nvml {
 public:
  static constexpr std::size_t kXidsMax = 64;

  // `library`: its file, for tests. Unavailable where there is no such library, and where it finds
  // no driver.
  static Result<std::unique_ptr<Nvml>> open(const std::string& library = kNvmlLibrary);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // GPUs that this process may see; all below are numbered from 0 to this.
  std::size_t count() const;

  // "GPU-" and a UUID, as it was when the library was opened: the same in every process and after
  // every start, and also of a GPU that is lost since.
  std::string uuid(std::size_t gpu) const;

  GpuFacts read(std::size_t gpu);

  // Xid events that came since the call before, at most kXidsMax of them: the GPU and the number.
  // Does not wait. Nothing of a GPU or driver that reports none.
  std::vector<std::pair<std::size_t, std::uint32_t>> take_xids();

 private:
  class Impl;
  explicit Nvml(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace gcoord::server
