// A device, a proxy, TCP between two peer networks of this process, a proxy, the same device: what
// a slot costs that leaves a GPU by way of the host. One thread moves everything.
#include "bench/channel/channel_run.h"
#include "netcore/device/gpu_device.h"
#include "netcore/peers/network.h"
#include "netcore/proxy/gpu_proxy.h"

#include <chrono>
#include <optional>
#include <utility>

namespace gcoord::bench {
namespace {

using netcore::GpuProxy;
using netcore::PeerNetwork;
using netcore::ProbeJob;
using netcore::ProbeKind;

std::uint64_t now_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

// A node: its network, and the proxy that its device sees.
struct ProxyNode final : netcore::Sink {
  void on_frame(NodeId /*from*/,
                netcore::Band band,
                std::span<const netcore::Slot> slots,
                const netcore::PayloadView& payloads) override {
    proxy->deliver(band, slots, payloads, 0);
  }

  void on_heartbeat(NodeId /*from*/, const netcore::Heartbeat& /*heartbeat*/) override {}

  void on_peer_up(NodeId /*peer*/, Incarnation /*incarnation*/, std::uint32_t /*epoch*/) override {
    up = true;
  }

  void on_peer_down(NodeId /*peer*/, std::string_view /*reason*/) override { up = false; }

  void turn() {
    network->progress(now_ms(), *this);
    proxy->pump(*network, 0);
    network->flush();
  }

  std::unique_ptr<PeerNetwork> network;
  std::unique_ptr<GpuProxy> proxy;
  bool up = false;
};

class ProxyEndpoints final : public ChannelEndpoints {
 public:
  ProxyEndpoints(std::uint32_t device, std::unique_ptr<netcore::MemorySource> memory)
      : device_(device), registry_(std::move(memory)) {}

  std::string name() const override {
    return "proxy cuda:" + std::to_string(device_) + " -> TCP -> cuda:" + std::to_string(device_) +
           ", one host thread";
  }

  Status open(const ChannelSetup& setup) override {
    nodes_[0] = {};
    nodes_[1] = {};
    ++epoch_;
    GCOORD_TRY_STATUS(open_node(2, 0, setup));
    GCOORD_TRY_STATUS(open_node(1, nodes_[1].network->listen_port(), setup));
    const std::uint64_t deadline_ms = now_ms() + 5000;
    while (!(nodes_[0].up && nodes_[1].up)) {
      if (now_ms() > deadline_ms) {
        return {StatusCode::DeadlineExceeded, "the two networks do not meet"};
      }
      turn();
    }
    return {};
  }

  Status run(ProbeKind near,
             const netcore::ProbeOptions& probe,
             const ChannelSetup& setup) override {
    const ProbeKind far = near == ProbeKind::Send ? ProbeKind::Receive : ProbeKind::Pong;
    GCOORD_TRY(const auto far_job, start(1, far, probe, setup));
    GCOORD_TRY(const auto near_job, start(0, near, probe, setup));
    while (!(near_job->done() && far_job->done())) {
      for (int turns = 0; turns < 64; ++turns) {
        turn();
      }
    }
    GCOORD_TRY(const auto near_results, near_job->finish());
    GCOORD_TRY(const auto far_results, far_job->finish());
    near_ = chaos::summary_of(near_results);
    far_ = chaos::summary_of(far_results);
    round_trips_ = near_job->round_trips();
    return {};
  }

 private:
  void turn() {
    nodes_[0].turn();
    nodes_[1].turn();
  }

  Status open_node(std::uint32_t id, std::uint16_t peer_port, const ChannelSetup& setup) {
    netcore::PeerNetworkOptions options;
    options.cluster = ClusterId{1};
    options.node = NodeId{id};
    options.incarnation = Incarnation{epoch_};
    options.directory = netcore::DirectoryId{id};
    options.listen_host = "127.0.0.1";
    options.peers = {{NodeId{3 - id}, "127.0.0.1", peer_port}};
    options.silence_limit_ms = 0;
    ProxyNode& node = nodes_[id - 1];
    GCOORD_TRY(node.network, PeerNetwork::create(std::move(options)));
    netcore::GpuProxyOptions proxied;
    proxied.peer = NodeId{3 - id};
    proxied.layout.band[1] = {1, setup.ring_slots, setup.ring_payload_bytes};
    proxied.epoch = epoch_;
    GCOORD_TRY(node.proxy, GpuProxy::create(registry_, proxied));
    node.proxy->open();
    return {};
  }

  Result<std::unique_ptr<ProbeJob>> start(std::size_t node,
                                          ProbeKind kind,
                                          const netcore::ProbeOptions& probe,
                                          const ChannelSetup& setup) {
    netcore::ProbeJobOptions options;
    options.device = device_;
    options.kind = kind;
    options.channel = nodes_[node].proxy->device();
    options.probe = probe;
    options.lane_count = 1;
    options.warps_per_block = setup.warps_per_block;
    return ProbeJob::start(options);
  }

  std::uint32_t device_;
  netcore::MemoryRegistry registry_;
  ProxyNode nodes_[2];
  std::uint32_t epoch_ = 0;
};

}  // namespace

Result<std::unique_ptr<ChannelEndpoints>> make_proxy_ends(std::uint32_t device) {
  GCOORD_TRY(auto memory, netcore::make_gpu_memory(device));
  return std::unique_ptr<ChannelEndpoints>{
      std::make_unique<ProxyEndpoints>(device, std::move(memory))};
}

}  // namespace gcoord::bench
