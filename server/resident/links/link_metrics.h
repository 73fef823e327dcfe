// Metrics of invalid writes by peers into the channels of a resident turn, for the operator.
//
// Kernels count it in memory that the host reads at any time (netcore/gpu_channel/lane.h), a line
// per lane and end, so it is read ten times a second. Contract: one thread.
#pragma once

#include "common/host/metrics.h"
#include "netcore/gpu_channel/gpu_channel.h"

#include <cstdint>

namespace gcoord::server {

class ResidentChannelMetrics {
 public:
  explicit ResidentChannelMetrics(MetricsRegistry& registry);

  // Whether it is time to read again; true once for each time.
  bool due(std::uint64_t now_ms);

  // `now`: of all channels of the node's life, so none of it falls.
  void tell(const netcore::GpuChannelCounts& now);

 private:
  Counter& stale_epoch_;
  Counter& credit_overrun_;
  Counter& bad_length_;
  Counter& bad_field_;
  netcore::GpuChannelCounts told_;
  std::uint64_t next_ms_ = 0;
};

}  // namespace gcoord::server
