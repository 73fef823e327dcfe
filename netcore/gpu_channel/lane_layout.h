// Memory layout of a device channel: offsets and the total, computed before allocation.
//
// Each node has one region per channel, in memory that it owns and that its peer may write: what
// arrives (slots, payload), the grants for what it sends, and the peer's liveness word. Both nodes
// compute the same layout from the same options, so a region's size is all that is compared. A
// second region, out of every peer's reach, holds the states of the lane ends.
//
//   region:  liveness word | grant per lane (a line each) | per lane: slots, payload
//
// Offsets are bytes, lines are 128 bytes. Pure arithmetic, host and device.
//
// What it costs: a lane of 256 slots is 24 KiB and a line for its grant, plus its payload ring.
// 1,056 such lanes (eight warps on each multiprocessor of an H200) are 25 MiB, which stay in its
// L2.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "netcore/channel/credit.h"
#include "netcore/gpu_channel/lane_receiver.h"
#include "netcore/gpu_channel/lane_sender.h"
#include "netcore/memory/slot.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::netcore {

inline constexpr std::uint32_t kLanesPerBandMax = 4096;  // Far above the warps of any device.
inline constexpr std::uint32_t kPayloadRingBytesMax = 1u << 30;
inline constexpr std::size_t kLineBytes = 128;  // What a device moves at once, and polls apart.

// One band's share of a channel. No lanes: the band is not carried.
struct BandLanes {
  std::uint32_t lane_count = 0;
  std::uint32_t ring_slots = 0;     // Per lane: a power of two, at least kRingSlotsMin.
  std::uint32_t payload_bytes = 0;  // Per lane: 0, or a power of two >= kPayloadRingBytesMin.
};

// By Band, in its order. It travels in greetings: never reorder.
struct LaneLayoutOptions {
  BandLanes band[kBandCount];
};

// Written out: nvcc warns on defaulted comparisons in device code.
constexpr bool operator==(const BandLanes& a, const BandLanes& b) {
  return a.lane_count == b.lane_count && a.ring_slots == b.ring_slots &&
         a.payload_bytes == b.payload_bytes;
}

// Does it describe a layout at all? Options may come from outside, so nothing is asserted.
GCOORD_HD constexpr bool is_layout(const LaneLayoutOptions& options) {
  for (const BandLanes& band : options.band) {
    const std::uint32_t slots = band.ring_slots;
    const std::uint32_t payload = band.payload_bytes;
    const bool slots_fit = slots >= kRingSlotsMin && slots <= kRingSlotsMax;
    const bool payload_fits = payload >= kPayloadRingBytesMin && payload <= kPayloadRingBytesMax;
    const bool powers = (slots & (slots - 1)) == 0 && (payload & (payload - 1)) == 0;
    if (band.lane_count > kLanesPerBandMax) {
      return false;
    }
    if (band.lane_count != 0 && (!slots_fit || !powers || (payload != 0 && !payload_fits))) {
      return false;
    }
  }
  return true;
}

// Rounded up, so that no two lanes share a line: each is written by another warp.
GCOORD_HD constexpr std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

// Bytes of one lane's slots and payload.
GCOORD_HD constexpr std::size_t lane_bytes(const BandLanes& band) {
  return whole_lines(band.ring_slots * sizeof(SealedSlot)) + band.payload_bytes;
}

// Lanes of all bands.
GCOORD_HD constexpr std::uint32_t lane_total(const LaneLayoutOptions& options) {
  std::uint32_t total = 0;
  for (const BandLanes& band : options.band) {
    total += band.lane_count;
  }
  return total;
}

// Number of a lane among all lanes of the channel.
GCOORD_HD constexpr std::uint32_t lane_number(const LaneLayoutOptions& options,
                                              Band band,
                                              std::uint32_t lane) {
  std::uint32_t number = lane;
  for (std::size_t i = 0; i < static_cast<std::size_t>(band); ++i) {
    number += options.band[i].lane_count;
  }
  return number;
}

// The liveness word first, in a line of its own, then a line per grant: what is polled apart is
// stored apart.
inline constexpr std::size_t kLivenessOffset = 0;
inline constexpr std::size_t kGrantsOffset = kLineBytes;
static_assert(sizeof(SealedSlot) <= kLineBytes);

// Where the peer grants lane `number`, in the region of the side that sends on it.
GCOORD_HD constexpr std::size_t grant_offset(std::uint32_t number) {
  return kGrantsOffset + number * kLineBytes;
}

// Where a lane's slots begin; its payload follows them.
GCOORD_HD constexpr std::size_t slots_offset(const LaneLayoutOptions& options,
                                             Band band,
                                             std::uint32_t lane) {
  std::size_t offset = grant_offset(lane_total(options));
  for (std::size_t i = 0; i < static_cast<std::size_t>(band); ++i) {
    offset += options.band[i].lane_count * lane_bytes(options.band[i]);
  }
  return offset + lane * lane_bytes(options.band[static_cast<std::size_t>(band)]);
}

// Bytes of a whole region.
GCOORD_HD constexpr std::size_t region_bytes(const LaneLayoutOptions& options) {
  std::size_t bytes = grant_offset(lane_total(options));
  for (const BandLanes& band : options.band) {
    bytes += band.lane_count * lane_bytes(band);
  }
  return bytes;
}

// The two ends of one lane at one node, between kernels.
struct alignas(kLineBytes) LaneState {
  LaneSenderState sender;
  LaneReceiverState receiver;
};

// How the states of a lane start in every epoch.
GCOORD_HD constexpr LaneState first_lane_state(const BandLanes& band) {
  LaneState state;
  state.sender.credit.capacity = band.ring_slots;
  state.receiver.credit.capacity = band.ring_slots;
  return state;
}

}  // namespace gcoord::netcore
