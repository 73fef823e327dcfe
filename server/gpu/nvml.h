// GPUs as NVIDIA's management library sees them: use, memory, power, energy, temperature.
//
// The library comes with the driver and is opened at run time, so that no build needs it. Its
// interface is documented in the NVML API Reference Guide. Thread-safe, as the library is.
#pragma once

#include "common/status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::server {

// A GPU does not tell what its model or the rights of the process keep from it.
struct GpuFacts {
  std::optional<std::uint32_t> busy_percent;  // Of the last sample period in which a kernel ran.
  std::optional<std::uint64_t> memory_used_bytes;
  std::optional<std::uint64_t> memory_total_bytes;
  std::optional<std::uint64_t> power_mw;   // Milliwatts, now.
  std::optional<std::uint64_t> energy_mj;  // Millijoules since the driver was loaded.
  std::optional<std::uint32_t> temperature_c;
};

// One GPU, as it was read.
struct GpuReading {
  std::string uuid;  // As Nvml::uuid().
  GpuFacts facts;
};

// Reads all GPUs. A call takes as long as the driver likes, which may be for ever. A failure: there
// will be nothing to read.
using GpuSource = std::function<Result<std::vector<GpuReading>>()>;

// Of NVML, which the first call opens. `library` as for Nvml::open().
GpuSource nvml_source(std::string library = "libnvidia-ml.so.1");

class Nvml {
 public:
  // `library`: its file, for tests. Unavailable where there is no such library, and where it finds
  // no driver.
  static Result<std::unique_ptr<Nvml>> open(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // GPUs that this process may see; all below are numbered from 0 to this.
  std::size_t count() const;

  // "GPU-" and a UUID: the same in every process and after every start.
  std::string uuid(std::size_t gpu) const;

  GpuFacts read(std::size_t gpu) const;

 private:
  class Impl;
  explicit Nvml(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace gcoord::server
