// The metrics of a resident node: entries, requests, memory and votes. One thread.
#pragma once

#include "common/host/metrics.h"
#include "server/resident/copy/follower.h"
#include "server/resident/engine/lease_watch.h"
#include "server/resident/engine/requests.h"
#include "server/resident/engine/rows.h"
#include "server/resident/links/link_metrics.h"
#include "server/resident/node/node.h"

#include <array>
#include <cstdint>

namespace gcoord::server {

class ResidentMetrics {
 public:
  explicit ResidentMetrics(MetricsRegistry& registry);

  // Brings all but what the next ones tell up to date.
  void show(const ResidentRows& rows, const ResidentRequests& requests);
  void show_channels(const ResidentNode& node, std::uint64_t now_ms);

  void show_memory(std::uint64_t bytes) const {
    memory_bytes_.set(static_cast<std::int64_t>(bytes));
  }

  // Refusals of `now` never fall while the node lives.
  void show_pages(const PageCounts& now);
  void show_copy(const Follower::Counts& counts);

  void show_leases(const LeaseWatch& leases) {
    doubted_leases_.add(leases.doubts() - doubts_shown_);
    doubts_shown_ = leases.doubts();
  }

  void on_growth() { growths_.add(1); }

 private:
  Counter& entries_;
  Counter& compared_;
  Gauge& absent_;
  Counter& leased_reads_;
  Counter& round_reads_;
  Counter& doubted_leases_;
  Gauge& under_way_;
  Gauge& memory_bytes_;
  Counter& growths_;
  Gauge& pages_;
  Gauge& pages_taken_;
  Counter& pages_refused_;
  Gauge& voting_;
  Gauge& forgotten_;
  Gauge& ahead_;
  Gauge& ahead_most_;
  Counter& full_;
  Counter& followed_;
  ResidentChannelMetrics channels_;
  std::array<Counter*, kIngressFaults> unsound_{};  // By IngressFault; of None there is none.
  ResidentRowCounts shown_;
  std::uint64_t refused_shown_ = 0;
  std::uint64_t doubts_shown_ = 0;
  Follower::Counts copy_shown_;
};

}  // namespace gcoord::server
