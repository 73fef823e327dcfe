// Device work of a node besides stepping: scans of all session deadlines, and deadlock searches
// among the waits.
//
// On the host until start(), and after it for what is small: there a call of the device costs more
// than the work. The answers are the same in both places. The host is the authority: it ends a
// session by its own deadlines (sessions/deadline_mirror.h), and no circle of waits is ended before
// its leaders confirm it. Of each kind of call one in so many is done again on the host, and what
// differs is a fault of the device.
//
// A fault ends the node, as one of the stepper does: failure() has a number of
// common/device/device_errors.h, nothing of the pass under way may leave, and no further call is
// made. A device that has no memory left for this has no fault, at the start and later: the log and
// a metric say so, and the host goes on alone. One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "consensus/device/device_check.h"
#include "sessions/clock.h"
#include "sessions/deadline_mirror.h"
#include "sessions/sweep_device.h"
#include "sessions/wait_graph_search.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace gcoord::server {

// Rows of sessions from which on the device looks at their deadlines. The host takes 0.16 ms for so
// many, in each tick in which somebody is due; the device some 0.03 to 0.06 ms, most of it the call
// and its copies (docs/adr/0065).
inline constexpr std::uint32_t kDeviceRowsMin = 1u << 18;

// Edges of a graph from which on the device searches it: the host takes 16 to 30 ns an edge, so
// 0.3 to 0.5 ms; the device some 0.2 ms for any graph up to there, for its launches and copies.
inline constexpr std::size_t kDeviceEdgesMin = std::size_t{1} << 14;

struct DeviceSweepsOptions {
  std::uint32_t rows_min = kDeviceRowsMin;
  std::size_t edges_min = kDeviceEdgesMin;
  std::uint32_t check_one_in = consensus::kDeviceCheckOneIn;  // 0: nothing is done again.
  std::function<std::uint64_t()> clock_us;                    // For a histogram; may be empty.
};

class DeviceSweeps {
 public:
  explicit DeviceSweeps(MetricsRegistry& metrics);

  // From now on, with a device that works, or without one (nullptr). One that has no memory for
  // this (ResourceExhausted) is as none; other failures of opening it come back, explained.
  Status start(Result<std::unique_ptr<sessions::SweepDevice>> opened, DeviceSweepsOptions options);

  // As SessionClock::collect_due. Nothing after a failure.
  std::size_t collect_due(sessions::SessionClock& clock,
                          Tick now,
                          std::span<sessions::ExpiryProposal> out);

  // As WaitGraphSearch::find_all.
  Result<sessions::WaitFindings> search(std::span<const sessions::WaitEdge> edges,
                                        std::span<const std::uint8_t> any);

  // OK until the device failed; for the operator.
  const Status& failure() const { return failure_; }

  struct Report {
    bool on_device = false;      // What is large goes to the device.
    std::uint64_t sessions = 0;  // Looks of the device at deadlines.
    std::uint64_t waits = 0;     // Searches of the device.
    std::uint64_t checked = 0;   // Of both, those that were done again on the host.
  };

  Report report() const;

 private:
  bool drawn(std::uint64_t& calls);
  bool missed_by(const sessions::DueQuery& look, const sessions::SessionClock& clock, Tick now);
  void register_metrics();
  bool gives_up(const Status& status);
  void go_alone(const Status& why);
  void fail(const Status& status);
  void observe(Counter& counter, std::uint64_t begin_us);
  std::uint64_t now_us() const;

  MetricsRegistry& metrics_;
  DeviceSweepsOptions options_;
  std::unique_ptr<sessions::SweepDevice> host_;
  sessions::WaitGraphSearch host_search_;
  std::unique_ptr<sessions::SweepDevice> device_;  // nullptr: none, or it has no memory left.
  std::unique_ptr<sessions::DeadlineMirror> mirror_;
  std::unique_ptr<sessions::WaitGraphSearch> device_search_;
  Status failure_;
  // Each of its own, so that many calls of one kind leave no call of the other unchecked.
  std::uint64_t looks_drawn_ = 0;
  std::uint64_t searches_drawn_ = 0;
  Counter* sessions_ = nullptr;  // These from start() on.
  Counter* waits_ = nullptr;
  Counter* checked_ = nullptr;
  Counter* errors_ = nullptr;
  Gauge* alone_ = nullptr;
  Histogram* us_ = nullptr;
};

}  // namespace gcoord::server
