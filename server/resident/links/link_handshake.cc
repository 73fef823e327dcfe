#include "server/resident/links/link_handshake.h"

#include "netcore/gpu_channel/nvlink.h"

#include <cstring>

namespace gcoord::server {
namespace {

// As it travels.
struct Wire {
  std::byte kind = kReadyKind;
  std::uint8_t state = 0;
  std::uint8_t wish = 0;
  std::uint8_t mapping = 0;
  std::uint8_t way = 0;
  std::uint8_t tells_folder = 0;
  std::uint8_t says_hello = 0;
  std::uint8_t reserved = 0;
  std::uint32_t epoch = 0;
  std::uint32_t epoch_next = 0;
  std::uint64_t no_meeting = 0;
  netcore::GpuNodeFacts facts;
};

static_assert(sizeof(Wire) == kReadyBytes);

}  // namespace

ResidentReadyBytes write_resident_ready(const ResidentReady& ready) {
  Wire wire;
  wire.state = static_cast<std::uint8_t>(ready.state);
  wire.wish = static_cast<std::uint8_t>(ready.wish);
  wire.mapping = static_cast<std::uint8_t>(ready.mapping);
  wire.way = static_cast<std::uint8_t>(ready.way);
  wire.tells_folder = ready.tells_folder ? 1 : 0;
  wire.says_hello = ready.says_hello ? 1 : 0;
  wire.epoch = ready.epoch;
  wire.epoch_next = ready.epoch_next;
  wire.facts = ready.place.facts;
  ResidentReadyBytes bytes;
  std::memcpy(bytes.data(), &wire, sizeof wire);
  return bytes;
}

bool is_resident_ready(std::span<const std::byte> message) {
  return !message.empty() && message.front() == kReadyKind;
}

std::optional<ResidentReady> read_resident_ready(std::span<const std::byte> message) {
  if (message.size() != kReadyBytes || message.front() != kReadyKind) {
    return std::nullopt;
  }
  Wire wire;
  std::memcpy(static_cast<void*>(&wire), message.data(), sizeof wire);
  const bool known = wire.state <= static_cast<std::uint8_t>(ResidentState::Connected) &&
                     wire.wish <= static_cast<std::uint8_t>(ResidentPeers::Proxy) &&
                     wire.mapping <= kMappingLast &&
                     wire.way <= static_cast<std::uint8_t>(ResidentLinkKind::Proxy);
  if (!known || wire.epoch > netcore::kGpuEpochMax || wire.epoch_next > netcore::kGpuEpochMax) {
    return std::nullopt;
  }
  ResidentReady ready;
  ready.state = static_cast<ResidentState>(wire.state);
  ready.wish = static_cast<ResidentPeers>(wire.wish);
  ready.mapping = static_cast<Mapping>(wire.mapping);
  ready.way = static_cast<ResidentLinkKind>(wire.way);
  ready.epoch = wire.epoch;
  ready.epoch_next = wire.epoch_next;
  ready.tells_folder = wire.tells_folder != 0;
  ready.says_hello = wire.says_hello != 0;
  ready.place.facts = wire.facts;
  ready.place.facts.boot_id.back() = 0;
  return ready;
}

}  // namespace gcoord::server
