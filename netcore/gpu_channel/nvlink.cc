#include "netcore/gpu_channel/nvlink.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::netcore {
namespace {

constexpr std::uint32_t kMagic = 0x47434747;  // "GGCG" as bytes.
constexpr std::uint32_t kVersion = 1;

GpuGreeting greeting_of(const GpuNvlinkOptions& options) {
  GpuGreeting greeting;
  greeting.magic = kMagic;
  greeting.version = kVersion;
  greeting.cluster = options.cluster.value;
  greeting.from_node = options.self.value;
  greeting.to_node = options.peer.value;
  greeting.epoch_min = options.epoch_min;
  greeting.slot_bytes = sizeof(SealedSlot);
  greeting.region_bytes = region_bytes(options.layout);
  greeting.layout = options.layout;
  return greeting;
}

// Empty: the greeting is that of the peer that is expected here.
std::string contradiction(const GpuGreeting& theirs, const GpuNvlinkOptions& options) {
  if (theirs.magic != kMagic || theirs.version != kVersion ||
      theirs.slot_bytes != sizeof(SealedSlot)) {
    return "the peer speaks another version of the device channel";
  }
  if (theirs.cluster != options.cluster.value) {
    return "the peer belongs to another cluster";
  }
  if (theirs.from_node != options.peer.value || theirs.to_node != options.self.value) {
    return "the peer is node " + std::to_string(theirs.from_node) + " and expects node " +
           std::to_string(theirs.to_node);
  }
  const bool same_layout = std::equal(std::begin(theirs.layout.band),
                                      std::end(theirs.layout.band),
                                      std::begin(options.layout.band));
  if (!same_layout || theirs.region_bytes != region_bytes(options.layout)) {
    return "the peer has a different lane layout";
  }
  if (theirs.epoch_min == 0) {
    return "epoch 0 is never valid";
  }
  return "";
}

}  // namespace

Result<std::unique_ptr<GpuChannel>> join_gpu_nvlink(MemoryRegistry& registry,
                                                    const OwnedFd& socket,
                                                    const GpuNvlinkOptions& options) {
  if (!is_layout(options.layout) || options.epoch_min == 0) {
    return Status{StatusCode::InvalidArgument, "no layout of lanes, or epoch 0"};
  }
  GpuChannelOptions own;
  own.layout = options.layout;
  own.epoch = options.epoch_min;
  GCOORD_TRY(std::unique_ptr<GpuChannel> channel, GpuChannel::create(registry, own));
  const GpuGreeting greeting = greeting_of(options);
  GCOORD_TRY_STATUS(send_with_fd(
      socket, std::as_bytes(std::span<const GpuGreeting>{&greeting, 1}), channel->region().fd));
  GpuGreeting theirs;
  GCOORD_TRY(
      const OwnedFd fd,
      receive_with_fd(
          socket, std::as_writable_bytes(std::span<GpuGreeting>{&theirs, 1}), options.timeout_ms));
  const std::string why = contradiction(theirs, options);
  if (!why.empty()) {
    return Status{StatusCode::FailedPrecondition, why};
  }
  if (is_far_epoch(options.epoch_min, theirs.epoch_min)) {
    return Status{StatusCode::DataLoss,
                  "the peer asks for epoch " + std::to_string(theirs.epoch_min)};
  }
  GCOORD_TRY(const MemoryRange peer, registry.import(fd.get(), region_bytes(options.layout)));
  channel->attach(peer, true);
  GCOORD_TRY_STATUS(channel->begin(later_epoch(options.epoch_min, theirs.epoch_min)));
  return channel;
}

}  // namespace gcoord::netcore
