// Prometheus metrics of the GPUs of this machine: gcoord_gpu_*, with the GPU's UUID as label, and
// gcoord_gpu_sample_age_seconds. Pure.
#pragma once

#include "common/host/metrics.h"
#include "server/gpu/sampler.h"

namespace gcoord::server {

// Adds the sample to the registry of one page. What a GPU does not tell is left out, and of a stale
// sample all but its age.
void show_gpus(const GpuSample& sample, MetricsRegistry& page);

}  // namespace gcoord::server
