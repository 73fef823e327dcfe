// The watch of a node by its options: which GPU is its own, and by which library it is read.
//
// Any thread.
#pragma once

#include "common/host/metrics.h"
#include "server/gpu_guard/guard.h"
#include "server/options/options.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace gcoord::server {

// `stepper`: what the shards run on, "cpu" or "cuda:0" (consensus::StepperReport::name). nullptr
// for a node that was given no device. The registry outlives it.
std::unique_ptr<GpuGuard> open_gpu_guard(const NodeOptions& options,
                                         const std::string& stepper,
                                         MetricsRegistry& metrics);

// N of cuda:N; none: it is no GPU.
std::optional<std::uint32_t> gpu_index(const std::string& stepper);

}  // namespace gcoord::server
