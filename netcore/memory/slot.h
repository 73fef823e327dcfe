// Slot, netcore's unit of transfer: 64 opaque bytes in one of four bands, with payload extents
// beside it.
//
// netcore never looks inside a slot. A slot is one cache line on the host and one coalesced store
// on a device; what it means is agreed between the rooms above. Trivially copyable; host and
// device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gcoord::netcore {

inline constexpr std::size_t kSlotBytes = 64;  // One cache line; the message size of consensus.

struct alignas(kSlotBytes) Slot {
  std::byte bytes[kSlotBytes];
};

static_assert(sizeof(Slot) == kSlotBytes);

// Priority classes of a channel, each with rings and credits of its own, so that none can hold up
// another. Control goes first, then Consensus, then Rpc and Bulk by weight. Travels on the wire:
// never renumber.
enum class Band : std::uint8_t {
  Control = 0,
  Consensus = 1,
  Rpc = 2,
  Bulk = 3,
};

inline constexpr std::size_t kBandCount = 4;

// The name of a band for logs and metric labels.
constexpr const char* band_name(Band band) {
  constexpr const char* kNames[kBandCount] = {"control", "consensus", "rpc", "bulk"};
  return kNames[static_cast<std::size_t>(band)];
}

}  // namespace gcoord::netcore
