// Device channels over host memory for tests: two ends of one channel, worked by host threads, and
// the slots they exchange.
#pragma once

#include "common/random.h"
#include "netcore/gpu_channel/loopback.h"
#include "netcore/probe/channel_probe.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::netcore {

inline constexpr std::uint32_t kSampleEpoch = 7;
inline constexpr std::uint64_t kSecondNs = 1'000'000'000;

// Two control lanes and `lanes` consensus lanes with payload.
inline LaneLayoutOptions sample_layout(std::uint32_t lanes = 1, std::uint32_t ring_slots = 8) {
  LaneLayoutOptions layout;
  layout.band[0] = {2, 8, 0};
  layout.band[1] = {lanes, ring_slots, kPayloadRingBytesMin};
  return layout;
}

struct LoopbackSample {
  explicit LoopbackSample(const LaneLayoutOptions& layout = sample_layout(),
                          std::uint32_t epoch = kSampleEpoch) {
    GpuChannelOptions options;
    options.layout = layout;
    options.epoch = epoch;
    auto made = make_gpu_loopback(registry, options);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    pair = std::move(made).value();
  }

  GpuChannelDevice first() const { return pair.first->device(); }

  GpuChannelDevice second() const { return pair.second->device(); }

  MemoryRegistry registry{make_host_memory()};
  GpuChannelPair pair;
};

// Publishes one slot whose words count up from `value`.
inline bool send_one(LaneSender& sender, std::uint32_t value, std::uint32_t payload_bytes = 0) {
  const Reservation place = sender.reserve(1, payload_bytes);
  if (place.slot_count == 0) {
    return false;
  }
  if (payload_bytes != 0) {
    sender.write_from(place, 0, [value](std::uint32_t at) { return Words128{value, at}; });
  }
  sender.publish(place, [value](std::uint32_t, std::uint32_t word) { return value + word; });
  return true;
}

// Does the tile hold what send_one(value, payload_bytes) published?
inline bool is_sample(const SlotTile& tile, std::uint32_t value, std::uint32_t payload_bytes = 0) {
  bool same = tile.slot_count == 1 && tile.payload_bytes == payload_bytes;
  tile.for_each_word([&](std::uint32_t, std::uint32_t word, std::uint32_t found) {
    same = same && found == value + word;
  });
  const auto* words = reinterpret_cast<const Words128*>(tile.payload);
  for (std::uint32_t at = 0; same && at < payload_bytes / sizeof(Words128); ++at) {
    same = words[at].low == value && words[at].high == at;
  }
  return same;
}

// The ring of one end as the peer sees it: to write garbage into.
inline SealedSlot* ring_of(const GpuChannelDevice& end, Band band, std::uint32_t lane) {
  return wires_of(end, band, lane).own_slots;
}

}  // namespace gcoord::netcore
