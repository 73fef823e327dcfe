// One measured run over one link: a stream or an echo, with its setup and its figures as JSON.
//
// A link is something with two ends, worked by kernels or by a host thread: GpuEnds hides which.
// CUDA builds only; one thread.
#pragma once

#include "chaos/gpu/gpu_peer.h"
#include "common/json/value.h"
#include "common/status.h"
#include "netcore/gpu_channel/loopback.h"
#include "netcore/memory/registry.h"
#include "netcore/probe/channel_probe_job.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::bench {

// What is varied between runs.
struct ChannelSetup {
  std::uint32_t lanes = 1;
  std::uint32_t payload_bytes = 0;  // Per slot.
  std::uint32_t ring_slots = 256;   // Per lane.
  std::uint32_t ring_payload_bytes = 0;
  std::uint32_t warps_per_block = 4;
  std::uint64_t slots_per_lane = 0;
  std::uint32_t batch_slots = 32;
};

// The two ends of a link under test: the near one is worked here, the far one wherever it is.
class ChannelEndpoints {
 public:
  virtual ~ChannelEndpoints() = default;
  // "nvlink cuda:0 -> cuda:1, two processes".
  virtual std::string name() const = 0;
  // A fresh channel for this setup; the last one is gone.
  virtual Status open(const ChannelSetup& setup) = 0;
  // Starts the far end, then works the near end, then waits for both. `round_trips` receives those
  // of a Ping.
  virtual Status run(netcore::ProbeKind near,
                     const netcore::ProbeOptions& probe,
                     const ChannelSetup& setup) = 0;

  const chaos::ProbeSummary& near_summary() const { return near_; }

  const chaos::ProbeSummary& far_summary() const { return far_; }

  const std::vector<std::uint32_t>& round_trips() const { return round_trips_; }

 protected:
  chaos::ProbeSummary near_;
  chaos::ProbeSummary far_;
  std::vector<std::uint32_t> round_trips_;
};

// One process, one device: two kernels side by side.
Result<std::unique_ptr<ChannelEndpoints>> make_loopback_ends(std::uint32_t device);
// This process on `near`, a child on `far` (the same device is allowed).
Result<std::unique_ptr<ChannelEndpoints>> make_nvlink_ends(std::uint32_t near, std::uint32_t far);
// A kernel, and a thread of the host at the other end of pinned memory.
Result<std::unique_ptr<ChannelEndpoints>> make_pinned_ends(std::uint32_t device);

// Through two proxies and TCP between them, all in this process.
Result<std::unique_ptr<ChannelEndpoints>> make_proxy_ends(std::uint32_t device);

// Streams from the near to the far end. Fails unless every slot arrived and every word was right.
Result<Json> measure_stream(ChannelEndpoints& ends, const ChannelSetup& setup);

// `count` echoes of one slot at a time.
Result<Json> measure_echo(ChannelEndpoints& ends, std::uint32_t count);

}  // namespace gcoord::bench
