// The links that are measured: within a device, between devices, between a device and the host.
#include "bench/channel/channel_run.h"
#include "netcore/device/gpu_device.h"

#include <optional>
#include <thread>
#include <utility>

namespace gcoord::bench {
namespace {

using chaos::GpuPeer;
using chaos::PeerOrder;
using netcore::GpuChannel;
using netcore::GpuChannelDevice;
using netcore::GpuChannelOptions;
using netcore::LaneLayoutOptions;
using netcore::MemoryKind;
using netcore::MemoryRegistry;
using netcore::ProbeJob;
using netcore::ProbeJobOptions;
using netcore::ProbeKind;
using netcore::ProbeOptions;
using netcore::ProbeResult;

LaneLayoutOptions layout_of(const ChannelSetup& setup) {
  LaneLayoutOptions layout;
  layout.band[1] = {setup.lanes, setup.ring_slots, setup.ring_payload_bytes};
  return layout;
}

ProbeKind other_end(ProbeKind near) {
  return near == ProbeKind::Send ? ProbeKind::Receive : ProbeKind::Pong;
}

Result<std::unique_ptr<ProbeJob>> start_job(std::uint32_t device,
                                            ProbeKind kind,
                                            const GpuChannelDevice& channel,
                                            const ProbeOptions& probe,
                                            const ChannelSetup& setup) {
  ProbeJobOptions options;
  options.device = device;
  options.kind = kind;
  options.channel = channel;
  options.probe = probe;
  options.lane_count = setup.lanes;
  options.warps_per_block = setup.warps_per_block;
  return ProbeJob::start(options);
}

class LoopbackEndpoints final : public ChannelEndpoints {
 public:
  LoopbackEndpoints(std::uint32_t device, std::unique_ptr<netcore::MemorySource> memory)
      : device_(device), registry_(std::move(memory)) {}

  std::string name() const override {
    return "loopback on cuda:" + std::to_string(device_) + ", one process";
  }

  Status open(const ChannelSetup& setup) override {
    pair_ = {};
    GpuChannelOptions options;
    options.layout = layout_of(setup);
    options.epoch = ++epoch_;
    GCOORD_TRY(pair_, make_gpu_loopback(registry_, options));
    return {};
  }

  Status run(ProbeKind near, const ProbeOptions& probe, const ChannelSetup& setup) override {
    GCOORD_TRY(const auto far_job,
               start_job(device_, other_end(near), pair_.second->device(), probe, setup));
    GCOORD_TRY(const auto near_job, start_job(device_, near, pair_.first->device(), probe, setup));
    GCOORD_TRY(const auto near_results, near_job->finish());
    GCOORD_TRY(const auto far_results, far_job->finish());
    near_ = chaos::summary_of(near_results);
    far_ = chaos::summary_of(far_results);
    round_trips_ = near_job->round_trips();
    return {};
  }

 private:
  std::uint32_t device_;
  MemoryRegistry registry_;
  netcore::GpuChannelPair pair_;
  std::uint32_t epoch_ = 0;
};

class NvlinkEndpoints final : public ChannelEndpoints {
 public:
  NvlinkEndpoints(std::uint32_t near,
                  std::uint32_t far,
                  std::unique_ptr<netcore::MemorySource> memory,
                  std::unique_ptr<GpuPeer> peer)
      : near_device_(near),
        far_device_(far),
        registry_(std::move(memory)),
        peer_(std::move(peer)) {}

  std::string name() const override {
    return (near_device_ == far_device_ ? "mapped cuda:" : "nvlink cuda:") +
           std::to_string(near_device_) + " -> cuda:" + std::to_string(far_device_) +
           ", two processes";
  }

  Status open(const ChannelSetup& setup) override {
    channel_.reset();
    GCOORD_TRY(channel_, peer_->join(registry_, layout_of(setup), ++epoch_));
    return {};
  }

  Status run(ProbeKind near, const ProbeOptions& probe, const ChannelSetup& setup) override {
    PeerOrder order;
    order.kind = other_end(near);
    order.probe = probe;
    order.lane_count = setup.lanes;
    order.warps_per_block = setup.warps_per_block;
    GCOORD_TRY_STATUS(peer_->run(order));
    GCOORD_TRY(const auto job, start_job(near_device_, near, channel_->device(), probe, setup));
    GCOORD_TRY(const auto results, job->finish());
    GCOORD_TRY(far_, peer_->finish());
    near_ = chaos::summary_of(results);
    round_trips_ = job->round_trips();
    return {};
  }

 private:
  std::uint32_t near_device_;
  std::uint32_t far_device_;
  MemoryRegistry registry_;
  std::unique_ptr<GpuPeer> peer_;
  std::unique_ptr<GpuChannel> channel_;
  std::uint32_t epoch_ = 0;
};

class PinnedEndpoints final : public ChannelEndpoints {
 public:
  PinnedEndpoints(std::uint32_t device, std::unique_ptr<netcore::MemorySource> memory)
      : device_(device), registry_(std::move(memory)) {}

  std::string name() const override {
    return "proxy rings: cuda:" + std::to_string(device_) + " -> one host thread, pinned memory";
  }

  Status open(const ChannelSetup& setup) override {
    device_end_.reset();
    host_end_.reset();
    GpuChannelOptions options;
    options.layout = layout_of(setup);
    options.epoch = ++epoch_;
    options.region_kind = MemoryKind::Pinned;
    GCOORD_TRY(device_end_, GpuChannel::create(registry_, options));
    options.private_kind = MemoryKind::Pinned;
    GCOORD_TRY(host_end_, GpuChannel::create(registry_, options));
    device_end_->attach(host_end_->region(), false);
    host_end_->attach(device_end_->region(), false);
    return {};
  }

  // The host's end works one lane; a kernel is launched first and waits for it.
  Status run(ProbeKind near, const ProbeOptions& probe, const ChannelSetup& setup) override {
    GCOORD_TRY(const auto job, start_job(device_, near, device_end_->device(), probe, setup));
    ProbeResult result;
    if (near == ProbeKind::Send) {
      result = netcore::probe_receive(host_end_->device(), 0, probe);
    } else {
      result = netcore::probe_pong(host_end_->device(), 0, probe);
    }
    GCOORD_TRY(const auto results, job->finish());
    near_ = chaos::summary_of(results);
    far_ = chaos::summary_of({result});
    round_trips_ = job->round_trips();
    return {};
  }

 private:
  std::uint32_t device_;
  MemoryRegistry registry_;
  std::unique_ptr<GpuChannel> device_end_;
  std::unique_ptr<GpuChannel> host_end_;
  std::uint32_t epoch_ = 0;
};

}  // namespace

Result<std::unique_ptr<ChannelEndpoints>> make_loopback_ends(std::uint32_t device) {
  GCOORD_TRY(auto memory, netcore::make_gpu_memory(device));
  return std::unique_ptr<ChannelEndpoints>{
      std::make_unique<LoopbackEndpoints>(device, std::move(memory))};
}

Result<std::unique_ptr<ChannelEndpoints>> make_nvlink_ends(std::uint32_t near, std::uint32_t far) {
  GCOORD_TRY_STATUS(netcore::gpu_reaches(near, far));
  GCOORD_TRY(auto memory, netcore::make_gpu_memory(near));
  GCOORD_TRY(auto peer, GpuPeer::start(far));
  return std::unique_ptr<ChannelEndpoints>{
      std::make_unique<NvlinkEndpoints>(near, far, std::move(memory), std::move(peer))};
}

Result<std::unique_ptr<ChannelEndpoints>> make_pinned_ends(std::uint32_t device) {
  GCOORD_TRY(auto memory, netcore::make_gpu_memory(device));
  return std::unique_ptr<ChannelEndpoints>{
      std::make_unique<PinnedEndpoints>(device, std::move(memory))};
}

}  // namespace gcoord::bench
