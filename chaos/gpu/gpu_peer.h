// A second process with a device of its own at the other end of a channel: for benchmarks of
// NVLink, and for tests that stop, resume and kill a peer while this process's kernels run.
//
// GpuPeer starts `gcoord-gpu-peer` and gives it orders over the Unix socket that also carried the
// handshake: join under an epoch, run a probe on some lanes, report. The peer works one order at a
// time; an order to run is answered twice, when its kernel is launched and when it has ended. Both
// programs are of one build, so orders are plain structs. CUDA builds only; one thread; every wait
// has a time limit.
#pragma once

#include "common/host/child_process.h"
#include "common/status.h"
#include "netcore/gpu_channel/nvlink.h"
#include "netcore/memory/registry.h"
#include "netcore/probe/channel_probe_job.h"
#include "netcore/transport/fd_socket.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::chaos {

// What all lanes of one end did.
struct ProbeSummary {
  std::uint64_t slots = 0;
  std::uint64_t wrong_words = 0;
  std::uint64_t began_ns = 0;                      // The first lane's; on the clock of that device.
  std::uint64_t ended_ns = 0;                      // The last lane's.
  std::array<std::uint32_t, 5> lanes_by_status{};  // Index: netcore::WaitStatus.
};

ProbeSummary summary_of(const std::vector<netcore::ProbeResult>& results);

enum class PeerVerb : std::uint32_t { Join, Run, Leave };

struct PeerOrder {
  PeerVerb verb = PeerVerb::Leave;
  std::uint32_t epoch = 0;
  netcore::LaneLayoutOptions layout;
  netcore::ProbeKind kind = netcore::ProbeKind::Receive;
  netcore::ProbeOptions probe;
  std::uint32_t lane_count = 1;
  std::uint32_t warps_per_block = 4;
};

struct PeerAnswer {
  std::uint32_t ok = 0;
  ProbeSummary summary;
  std::array<char, 200> text{};  // Why not, if not ok.
};

class GpuPeer {
 public:
  // Starts the peer on cuda:`device` and waits until it has called back.
  static Result<std::unique_ptr<GpuPeer>> start(std::uint32_t device);
  ~GpuPeer();
  GpuPeer(const GpuPeer&) = delete;
  GpuPeer& operator=(const GpuPeer&) = delete;

  // A new channel to the peer, which gives up its last one. This side is node 1.
  Result<std::unique_ptr<netcore::GpuChannel>> join(netcore::MemoryRegistry& registry,
                                                    const netcore::LaneLayoutOptions& layout,
                                                    std::uint32_t epoch);
  // Launches a probe there; returns when its kernel is launched.
  Status run(const PeerOrder& order);
  // What that probe did.
  Result<ProbeSummary> finish();

  // SIGSTOP, SIGCONT, SIGKILL: to the peer process.
  void signal(int number) { child_.signal(number); }

  // Kills the peer and waits until it is gone.
  void kill_now() { child_.kill_now(); }

 private:
  GpuPeer(ChildProcess child, netcore::OwnedFd socket)
      : child_(std::move(child)), socket_(std::move(socket)) {}

  Result<ProbeSummary> answer();

  ChildProcess child_;
  netcore::OwnedFd socket_;
};

// The peer's own life: calls `path`, works orders on cuda:`device` until the caller hangs up.
// Returns an exit status.
int serve_gpu_peer(const std::string& path, std::uint32_t device);

}  // namespace gcoord::chaos
