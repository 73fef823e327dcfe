// Wire format between two proxies over a peer network (gpu_proxy.h): one slot per message; a run
// carries its slots as the slot's one extent, so that it arrives whole or not at all.
//
// Everything names the epoch of the device channel, which is the proxies' own: one peer network's
// channel may see several. Little-endian; never renumber. What arrives is judged by
// GpuProxy::deliver; nothing here is asserted on. Host only.
#pragma once

#include "netcore/channel/frame.h"
#include "netcore/channel/liveness.h"
#include "netcore/memory/slot.h"

#include <bit>
#include <cstdint>

namespace gcoord::netcore {

enum class ProxyWord : std::uint32_t {
  Run = 1,       // Slots of one lane, in its order.
  Grants = 2,    // How many slots of some lanes the sender of this has passed on to its device.
  Liveness = 3,  // The device's newest liveness word.
};

// Slots of a run at most: as many as any band's extent holds.
inline constexpr std::uint32_t kProxyRunSlots = 64;
static_assert(kProxyRunSlots * kSlotBytes <= kExtentBytesMax[0]);

// The extent holds slot_count slots, then payload_bytes; a slot with a payload comes alone.
struct ProxyRun {
  ProxyWord word = ProxyWord::Run;
  std::uint32_t epoch = 0;
  std::uint32_t lane = 0;  // Among all lanes of the channel: lane_number().
  std::uint32_t slot_count = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t first = 0;  // Low 32 bits of the first slot's cursor.
  std::uint32_t reserved[10] = {};
};

inline constexpr std::uint32_t kProxyGrantsMax = 6;

struct ProxyGrant {
  std::uint32_t lane = 0;
  std::uint32_t consumed = 0;  // Low 32 bits of an absolute cursor (credit.h).
};

struct ProxyGrants {
  ProxyWord word = ProxyWord::Grants;
  std::uint32_t epoch = 0;
  std::uint32_t count = 0;
  std::uint32_t reserved = 0;
  ProxyGrant grant[kProxyGrantsMax];
};

struct ProxyLiveness {
  ProxyWord word = ProxyWord::Liveness;
  std::uint32_t epoch = 0;
  std::uint64_t send_tick = 0;
  std::uint64_t echoed_peer_send_tick = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t echoed_incarnation = 0;
  std::uint32_t flags = 0;
  std::uint32_t reserved[7] = {};
};

static_assert(sizeof(ProxyRun) == kSlotBytes);
static_assert(sizeof(ProxyGrants) == kSlotBytes);
static_assert(sizeof(ProxyLiveness) == kSlotBytes);

// What every one of them begins with.
struct ProxyOpening {
  ProxyWord word{};
  std::uint32_t epoch = 0;
  std::uint32_t rest[14] = {};
};

static_assert(sizeof(ProxyOpening) == kSlotBytes);

template <typename Word>
Slot proxy_slot(const Word& word) {
  return std::bit_cast<Slot>(word);
}

template <typename Word>
Word proxy_word(const Slot& slot) {
  return std::bit_cast<Word>(slot);
}

inline ProxyLiveness proxy_liveness(std::uint32_t epoch, const Heartbeat& heartbeat) {
  ProxyLiveness word;
  word.epoch = epoch;
  word.send_tick = heartbeat.send_tick.value;
  word.echoed_peer_send_tick = heartbeat.echoed_peer_send_tick.value;
  word.incarnation = heartbeat.incarnation.value;
  word.echoed_incarnation = heartbeat.echoed_incarnation.value;
  word.flags = heartbeat.flags;
  return word;
}

inline Heartbeat heartbeat_of(const ProxyLiveness& word) {
  Heartbeat heartbeat;
  heartbeat.send_tick = Tick{word.send_tick};
  heartbeat.echoed_peer_send_tick = Tick{word.echoed_peer_send_tick};
  heartbeat.incarnation = Incarnation{word.incarnation};
  heartbeat.echoed_incarnation = Incarnation{word.echoed_incarnation};
  heartbeat.flags = word.flags;
  return heartbeat;
}

}  // namespace gcoord::netcore
