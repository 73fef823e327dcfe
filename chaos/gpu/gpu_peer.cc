#include "chaos/gpu/gpu_peer.h"

#include "chaos/process/own_path.h"
#include "chaos/process/scratch_directory.h"
#include "netcore/device/gpu_device.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace gcoord::chaos {
namespace {

using netcore::GpuChannel;
using netcore::MemoryRegistry;
using netcore::OwnedFd;
using netcore::ProbeJob;

constexpr int kPatienceMs = 120'000;  // A context takes seconds to make; a probe ends by itself.
constexpr ClusterId kCluster{1};

template <typename T>
Status send_struct(const OwnedFd& socket, const T& value) {
  const ssize_t sent = ::send(socket.get(), &value, sizeof(value), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(sizeof(value))) {
    return {StatusCode::Unavailable, "the other process hung up"};
  }
  return {};
}

template <typename T>
Status receive_struct(const OwnedFd& socket, T& value) {
  pollfd waited{socket.get(), POLLIN, 0};
  if (poll(&waited, 1, kPatienceMs) <= 0) {
    return {StatusCode::DeadlineExceeded, "the other process does not answer"};
  }
  const ssize_t received = ::recv(socket.get(), &value, sizeof(value), 0);
  if (received != static_cast<ssize_t>(sizeof(value))) {
    return {StatusCode::Unavailable, "the other process hung up"};
  }
  return {};
}

netcore::GpuNvlinkOptions options_of(std::uint32_t self, const PeerOrder& order) {
  netcore::GpuNvlinkOptions options;
  options.cluster = kCluster;
  options.self = NodeId{self};
  options.peer = NodeId{3 - self};
  options.layout = order.layout;
  options.epoch_min = order.epoch;
  options.timeout_ms = kPatienceMs;
  return options;
}

PeerAnswer answer_of(const Status& status) {
  PeerAnswer answer;
  answer.ok = status.ok() ? 1 : 0;
  const std::string text = status.to_string();
  std::copy_n(text.begin(), std::min(text.size(), answer.text.size() - 1), answer.text.begin());
  return answer;
}

// The peer's side of one connection.
class PeerService {
 public:
  PeerService(OwnedFd socket, std::unique_ptr<netcore::MemorySource> memory, std::uint32_t device)
      : socket_(std::move(socket)), registry_(std::move(memory)), device_(device) {}

  void serve() {
    PeerOrder order;
    while (receive_struct(socket_, order).ok() && order.verb != PeerVerb::Leave) {
      const Status worked = order.verb == PeerVerb::Join ? join(order) : run(order);
      if (!worked.ok() && !send_struct(socket_, answer_of(worked)).ok()) {
        return;
      }
    }
  }

 private:
  Status join(const PeerOrder& order) {
    channel_.reset();
    GCOORD_TRY(channel_, netcore::join_gpu_nvlink(registry_, socket_, options_of(2, order)));
    return send_struct(socket_, answer_of({}));
  }

  Status run(const PeerOrder& order) {
    if (channel_ == nullptr) {
      return {StatusCode::FailedPrecondition, "join first"};
    }
    netcore::ProbeJobOptions options;
    options.device = device_;
    options.kind = order.kind;
    options.channel = channel_->device();
    options.probe = order.probe;
    options.lane_count = order.lane_count;
    options.warps_per_block = order.warps_per_block;
    GCOORD_TRY(const std::unique_ptr<ProbeJob> job, ProbeJob::start(options));
    GCOORD_TRY_STATUS(send_struct(socket_, answer_of({})));
    GCOORD_TRY(const std::vector<netcore::ProbeResult> results, job->finish());
    PeerAnswer answer = answer_of({});
    answer.summary = summary_of(results);
    return send_struct(socket_, answer);
  }

  OwnedFd socket_;
  MemoryRegistry registry_;
  std::uint32_t device_;
  std::unique_ptr<GpuChannel> channel_;
};

}  // namespace

ProbeSummary summary_of(const std::vector<netcore::ProbeResult>& results) {
  ProbeSummary summary;
  summary.began_ns = ~std::uint64_t{0};
  for (const netcore::ProbeResult& result : results) {
    summary.slots += result.slots;
    summary.wrong_words += result.wrong_words;
    if (result.slots != 0) {
      summary.began_ns = std::min(summary.began_ns, result.began_ns);
    }
    summary.ended_ns = std::max(summary.ended_ns, result.ended_ns);
    ++summary.lanes_by_status[static_cast<std::size_t>(result.status)];
  }
  return summary;
}

Result<std::unique_ptr<GpuPeer>> GpuPeer::start(std::uint32_t device) {
  GCOORD_TRY(const ScratchDirectory directory,
             ScratchDirectory::make(std::filesystem::temp_directory_path(), "gcoord-gpu-peer-"));
  const std::string path = (directory.path() / "peer").string();
  GCOORD_TRY(const OwnedFd listener, netcore::listen_at(path));
  ChildOptions options;
  options.arguments = {
      program_beside("gcoord-gpu-peer").string(), path, "cuda:" + std::to_string(device)};
  GCOORD_TRY(ChildProcess child, ChildProcess::start(options));
  GCOORD_TRY(OwnedFd socket, netcore::accept_at(listener, kPatienceMs));
  return std::unique_ptr<GpuPeer>{new GpuPeer(std::move(child), std::move(socket))};
}

GpuPeer::~GpuPeer() {
  // Best effort: whoever was killed has hung up already.
  if (send_struct(socket_, PeerOrder{}).ok()) {
    child_.wait_for(std::chrono::seconds{10});
  }
}

Result<std::unique_ptr<GpuChannel>> GpuPeer::join(MemoryRegistry& registry,
                                                  const netcore::LaneLayoutOptions& layout,
                                                  std::uint32_t epoch) {
  PeerOrder order;
  order.verb = PeerVerb::Join;
  order.layout = layout;
  order.epoch = epoch;
  GCOORD_TRY_STATUS(send_struct(socket_, order));
  GCOORD_TRY(std::unique_ptr<GpuChannel> channel,
             netcore::join_gpu_nvlink(registry, socket_, options_of(1, order)));
  GCOORD_TRY(const ProbeSummary ignored, answer());
  static_cast<void>(ignored);
  return channel;
}

Status GpuPeer::run(const PeerOrder& order) {
  PeerOrder run_order = order;
  run_order.verb = PeerVerb::Run;
  GCOORD_TRY_STATUS(send_struct(socket_, run_order));
  const Result<ProbeSummary> launched = answer();
  return launched.ok() ? Status{} : launched.status();
}

Result<ProbeSummary> GpuPeer::finish() {
  return answer();
}

Result<ProbeSummary> GpuPeer::answer() {
  PeerAnswer answer;
  GCOORD_TRY_STATUS(receive_struct(socket_, answer));
  if (answer.ok == 0) {
    return Status{StatusCode::Internal, "the peer process: " + std::string{answer.text.data()}};
  }
  return answer.summary;
}

int serve_gpu_peer(const std::string& path, std::uint32_t device) {
  auto memory = netcore::make_gpu_memory(device);
  auto socket = netcore::call_at(path, kPatienceMs);
  if (!memory.ok() || !socket.ok()) {
    const Status& why = memory.ok() ? socket.status() : memory.status();
    std::fprintf(stderr, "gcoord-gpu-peer: %s\n", why.to_string().c_str());
    return 1;
  }
  PeerService service{std::move(socket).value(), std::move(memory).value(), device};
  service.serve();
  return 0;
}

}  // namespace gcoord::chaos
