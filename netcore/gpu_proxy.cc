#include "netcore/gpu_proxy.h"

#include "netcore/frame.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gcoord::netcore {
namespace {

// Slots per call of PeerNetwork::send: a frame that fills a few packets of any network, small
// enough that bands take turns.
constexpr std::uint32_t kBatchSlots = 256;

std::uint32_t word_of(const Slot& slot, std::uint32_t word) {
  std::uint32_t value = 0;
  std::memcpy(&value, slot.bytes + word * sizeof(value), sizeof(value));
  return value;
}

Slot slot_of(const SlotTile& tile) {
  Slot slot;
  tile.for_each_word([&](std::uint32_t, std::uint32_t word, std::uint32_t value) {
    std::memcpy(slot.bytes + word * sizeof(value), &value, sizeof(value));
  });
  return slot;
}

}  // namespace

Result<std::unique_ptr<GpuProxy>> GpuProxy::create(MemoryRegistry& registry,
                                                   const GpuProxyOptions& options) {
  std::unique_ptr<GpuProxy> proxy{new GpuProxy(options)};
  GpuChannelOptions end;
  end.layout = options.layout;
  end.epoch = options.epoch;
  end.region_kind = MemoryKind::Pinned;
  GCOORD_TRY(proxy->device_end_, GpuChannel::create(registry, end));
  end.private_kind = MemoryKind::Pinned;
  GCOORD_TRY(proxy->host_end_, GpuChannel::create(registry, end));
  proxy->device_end_->attach(proxy->host_end_->region(), false);
  proxy->host_end_->attach(proxy->device_end_->region(), false);
  proxy->open_lanes();
  return proxy;
}

void GpuProxy::open_lanes() {
  const GpuChannelDevice channel = host_end_->device();
  for (std::size_t band = 0; band < kBandCount; ++band) {
    for (std::uint32_t lane = 0; lane < options_.layout.band[band].lane_count; ++lane) {
      senders_.push_back(open_sender(channel, static_cast<Band>(band), lane));
      receivers_.push_back(open_receiver(channel, static_cast<Band>(band), lane));
    }
  }
}

std::size_t GpuProxy::pump(PeerNetwork& network) {
  Heartbeat heartbeat;
  if (pull_heartbeat(host_end_->device(), heartbeat, heartbeat_seen_)) {
    network.heartbeat(options_.peer, heartbeat);
  }
  std::size_t moved = 0;
  for (std::size_t band = 0; band < kBandCount; ++band) {
    moved += pump_band(network, static_cast<Band>(band));
    moved += drain_staged(static_cast<Band>(band));
  }
  return moved;
}

std::size_t GpuProxy::pump_band(PeerNetwork& network, Band band) {
  Batch& batch = batches_[static_cast<std::size_t>(band)];
  if (batch.slots.empty()) {
    collect(band, std::min(network.credit(options_.peer, band), kBatchSlots));
  }
  const std::size_t slots = batch.slots.size();
  return slots != 0 && send(network, band) ? slots : 0;
}

// One slot of each lane in turn, so that no lane holds up another.
void GpuProxy::collect(Band band, std::uint32_t room) {
  const auto at = static_cast<std::size_t>(band);
  const std::uint32_t lanes = options_.layout.band[at].lane_count;
  Batch& batch = batches_[at];
  std::uint32_t quiet = 0;  // Lanes in a row that had nothing.
  while (quiet < lanes && batch.slots.size() < room) {
    LaneReceiver& receiver = receivers_[lane_number(options_.layout, band, next_lane_[at] % lanes)];
    next_lane_[at] = (next_lane_[at] + 1) % lanes;
    const SlotTile tile = receiver.poll(1);
    quiet = tile.slot_count == 0 ? quiet + 1 : 0;
    if (tile.slot_count != 0) {
      if (tile.payload_bytes > kExtentBytesMax[at]) {
        ++counts_.dropped_extent;
        receiver.release(tile);
        continue;
      }
      if (tile.payload_bytes != 0) {
        batch.extents.push_back({static_cast<std::uint32_t>(batch.slots.size()), {}});
        batch.extent_bytes.push_back(tile.payload_bytes);
        batch.bytes.insert(batch.bytes.end(), tile.payload, tile.payload + tile.payload_bytes);
      }
      batch.slots.push_back(slot_of(tile));
      receiver.release(tile);
    }
  }
}

// False: the network has no room now; the batch stays for the next pump.
bool GpuProxy::send(PeerNetwork& network, Band band) {
  Batch& batch = batches_[static_cast<std::size_t>(band)];
  std::size_t offset = 0;
  for (std::size_t i = 0; i < batch.extents.size(); ++i) {
    batch.extents[i].bytes = {batch.bytes.data() + offset, batch.extent_bytes[i]};
    offset += batch.extent_bytes[i];
  }
  if (!network.send(options_.peer, band, batch.slots, batch.extents)) {
    return false;
  }
  counts_.slots_out += batch.slots.size();
  batch.slots.clear();
  batch.extents.clear();
  batch.bytes.clear();
  batch.extent_bytes.clear();
  return true;
}

void GpuProxy::deliver(Band band, std::span<const Slot> slots, const PayloadView& payloads) {
  std::deque<Staged>& staged = staged_[static_cast<std::size_t>(band)];
  auto payload = payloads.begin();
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    Staged next;
    next.slot = slots[i];
    std::uint32_t extents = 0;
    bool fits = true;
    for (; payload != payloads.end() && (*payload).slot_index == i; ++payload, ++extents) {
      const std::span<const std::byte> bytes = (*payload).bytes;
      const BandLanes& lanes = options_.layout.band[static_cast<std::size_t>(band)];
      fits = extents == 0 && bytes.size() <= std::min(kLanePayloadBytesMax, lanes.payload_bytes);
      if (fits) {
        next.payload_bytes = static_cast<std::uint32_t>(bytes.size());
        next.payload.resize((bytes.size() + sizeof(Words128) - 1) / sizeof(Words128));
        std::copy(bytes.begin(),
                  bytes.end(),
                  std::as_writable_bytes(std::span<Words128>{next.payload}).begin());
      }
    }
    if (!fits) {
      ++counts_.dropped_extent;
    } else if (staged.size() >= options_.staged_slots_max) {
      ++counts_.dropped_full;
    } else if (!staged.empty() || !push(band, next)) {
      staged.push_back(std::move(next));
    }
  }
}

void GpuProxy::deliver(const Heartbeat& heartbeat) {
  push_heartbeat(host_end_->device(), heartbeat, ++heartbeats_pushed_);
}

std::size_t GpuProxy::drain_staged(Band band) {
  std::deque<Staged>& staged = staged_[static_cast<std::size_t>(band)];
  std::size_t moved = 0;
  while (!staged.empty() && push(band, staged.front())) {
    staged.pop_front();
    ++moved;
  }
  return moved;
}

bool GpuProxy::push(Band band, const Staged& staged) {
  const std::uint32_t lanes = options_.layout.band[static_cast<std::size_t>(band)].lane_count;
  if (lanes == 0) {
    ++counts_.dropped_full;
    return true;  // The device does not carry this band at all.
  }
  const std::uint32_t lane = options_.lane_of ? options_.lane_of(band, staged.slot) % lanes : 0;
  LaneSender& sender = senders_[lane_number(options_.layout, band, lane)];
  const Reservation place = sender.reserve(1, staged.payload_bytes);
  if (place.slot_count == 0) {
    return false;
  }
  if (staged.payload_bytes != 0) {
    sender.write(place, 0, staged.payload.data());
  }
  sender.publish(
      place, [&staged](std::uint32_t, std::uint32_t word) { return word_of(staged.slot, word); });
  ++counts_.slots_in;
  return true;
}

DropReason GpuProxy::fault() const {
  return device_end_->fault() != DropReason::None ? device_end_->fault() : host_end_->fault();
}

}  // namespace gcoord::netcore
