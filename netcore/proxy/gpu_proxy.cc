#include "netcore/proxy/gpu_proxy.h"

#include "netcore/channel/frame.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gcoord::netcore {
namespace {

// Slots per call of PeerNetwork::send: a frame that fills a few packets of any network, small
// enough that bands take turns.
constexpr std::uint32_t kBatchSlots = 256;

// A lane without credit ends the proxy after so many of the longest silences: a device that lives
// takes something from each of its lanes in far less.
constexpr std::uint64_t kStarvedSilences = 4;

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

// The largest payload of a band's slot still travels beside its slot as one extent.
bool fits_extents(const LaneLayoutOptions& layout) {
  for (std::size_t band = 0; band < kBandCount; ++band) {
    const std::uint32_t payload = std::min(layout.band[band].payload_bytes, kLanePayloadBytesMax);
    if (payload != 0 && kSlotBytes + payload > kExtentBytesMax[band]) {
      return false;
    }
  }
  return true;
}

void append(std::vector<std::byte>& bytes, const std::byte* from, std::size_t count) {
  bytes.insert(bytes.end(), from, from + count);
}

}  // namespace

Result<std::unique_ptr<GpuProxy>> GpuProxy::create(MemoryRegistry& registry,
                                                   const GpuProxyOptions& options) {
  if (!fits_extents(options.layout)) {
    return Status{StatusCode::InvalidArgument, "the payloads of a band are too long for a frame"};
  }
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
  lanes_.reserve(lane_total(options_.layout));
  for (std::size_t at = 0; at < kBandCount; ++at) {
    const BandLanes& lanes = options_.layout.band[at];
    const auto band = static_cast<Band>(at);
    for (std::uint32_t lane = 0; lane < lanes.lane_count; ++lane) {
      Lane opened{band,
                  std::min(lanes.payload_bytes, kLanePayloadBytesMax),
                  open_sender(channel, band, lane),
                  open_receiver(channel, band, lane),
                  {},
                  {},
                  {},
                  0,
                  0};
      opened.sending.capacity = lanes.ring_slots;
      opened.receiving.capacity = lanes.ring_slots;
      lanes_.push_back(std::move(opened));
    }
  }
}

// --- From the device to the network

std::size_t GpuProxy::pump(PeerNetwork& network, std::uint64_t now_ms) {
  pumped_ms_ = now_ms;
  if (!goes_on(now_ms)) {
    return 0;
  }
  if (!open_) {
    return let_all_go();
  }
  std::size_t moved = pump_liveness(network);
  for (Lane& lane : lanes_) {
    moved += drain(lane);
  }
  moved += pump_grants(network);
  if (!heard_) {
    return moved + let_all_go();
  }
  for (std::size_t band = 0; band < kBandCount; ++band) {
    moved += pump_band(network, static_cast<Band>(band));
  }
  return moved;
}

// Ends a proxy whose peer was silent for too long, before anything is done with it.
bool GpuProxy::goes_on(std::uint64_t now_ms) {
  const std::uint64_t most = options_.silence_ms_max;
  ended_ = ended_ || (most != 0 && heard_ && now_ms > heard_ms_ + most);
  return !ended_ && fault() == DropReason::None;
}

// One that finds no credit is replaced by the next one.
std::size_t GpuProxy::pump_liveness(PeerNetwork& network) {
  heartbeat_waits_ =
      pull_heartbeat(host_end_->device(), heartbeat_, heartbeat_seen_) || heartbeat_waits_;
  if (!heartbeat_waits_) {
    return 0;
  }
  const Slot word = proxy_slot(proxy_liveness(options_.epoch, heartbeat_));
  heartbeat_waits_ = !network.send(options_.peer, Band::Control, {&word, 1});
  return heartbeat_waits_ ? 0 : 1;
}

std::size_t GpuProxy::pump_grants(PeerNetwork& network) {
  std::size_t told = 0;
  ProxyGrants grants;
  grants.epoch = options_.epoch;
  for (std::uint32_t number = 0; number < lanes_.size(); ++number) {
    if (lanes_[number].receiving.wants_grant()) {
      const auto consumed = static_cast<std::uint32_t>(lanes_[number].receiving.consumed);
      grants.grant[grants.count++] = {number, consumed};
    }
    if (grants.count == 0 || (grants.count != kProxyGrantsMax && number + 1 != lanes_.size())) {
      continue;
    }
    const Slot word = proxy_slot(grants);
    if (!network.send(options_.peer, Band::Control, {&word, 1})) {
      break;
    }
    for (std::uint32_t k = 0; k < grants.count; ++k) {
      static_cast<void>(lanes_[grants.grant[k].lane].receiving.tell());
    }
    told += grants.count;
    grants.count = 0;
  }
  return told;
}

void GpuProxy::Batch::clear() {
  runs.clear();
  extent_bytes.clear();
  bytes.clear();
  extents.clear();
  slot_count = 0;
}

std::size_t GpuProxy::pump_band(PeerNetwork& network, Band band) {
  Batch& batch = batches_[static_cast<std::size_t>(band)];
  if (batch.runs.empty()) {
    collect(band, network.credit(options_.peer, band));
  }
  const std::size_t slots = batch.slot_count;
  return slots != 0 && send(network, band) ? slots : 0;
}

// Each lane once, from another one each time, so that no lane holds up another.
void GpuProxy::collect(Band band, std::uint32_t runs_max) {
  const auto at = static_cast<std::size_t>(band);
  const std::uint32_t lanes = options_.layout.band[at].lane_count;
  Batch& batch = batches_[at];
  for (std::uint32_t looked = 0;
       looked < lanes && batch.runs.size() < runs_max && batch.slot_count < kBatchSlots;
       ++looked) {
    collect_lane(lane_number(options_.layout, band, next_lane_[at] % lanes), batch);
    next_lane_[at] = (next_lane_[at] + 1) % lanes;
  }
}

// One run. A slot with a payload is one alone: what comes behind it is for the next pump, and it
// ends what comes before it.
void GpuProxy::collect_lane(std::uint32_t number, Batch& batch) {
  Lane& lane = lanes_[number];
  if (is_starved(lane)) {
    return;
  }
  ProxyRun run;
  run.epoch = options_.epoch;
  run.lane = number;
  const auto finish = [&batch, &lane](ProxyRun& whole) {
    if (whole.slot_count != 0) {
      batch.runs.push_back(proxy_slot(whole));
      batch.extent_bytes.push_back(whole.slot_count * std::uint32_t{kSlotBytes} +
                                   whole.payload_bytes);
      batch.slot_count += whole.slot_count;
    }
    whole.slot_count = 0;
    whole.first = static_cast<std::uint32_t>(lane.sending.sent);
  };
  finish(run);
  while (run.slot_count < kProxyRunSlots && run.payload_bytes == 0 &&
         lane.sending.available(CreditClass::Control) != 0) {
    const SlotTile tile = lane.from.poll(1);
    if (tile.slot_count == 0) {
      break;
    }
    if (lane.behind != 0) {  // The rest of a message whose beginning was let go.
      --lane.behind;
      ++counts_.slots_let_go;
      lane.from.release(tile);
      continue;
    }
    if (tile.payload_bytes != 0) {
      finish(run);
    }
    const Slot slot = slot_of(tile);
    append(batch.bytes, slot.bytes, kSlotBytes);
    append(batch.bytes, tile.payload, tile.payload_bytes);
    run.payload_bytes = tile.payload_bytes;
    lane.from.release(tile);
    lane.sending.take(1, CreditClass::Control);
    ++run.slot_count;
  }
  finish(run);
}

// Has the lane no credit? Its peer owes some as soon as it has passed on a slot.
bool GpuProxy::is_starved(Lane& lane) {
  if (lane.sending.available(CreditClass::Control) != 0) {
    lane.starved_ms = 0;
    return false;
  }
  lane.starved_ms = lane.starved_ms == 0 ? pumped_ms_ : lane.starved_ms;
  const std::uint64_t most = kStarvedSilences * options_.silence_ms_max;
  if (most != 0 && pumped_ms_ > lane.starved_ms + most && !ended_) {
    ended_ = true;
    counts_.starved = 1;
  }
  return true;
}

// False: the network has no room now; the batch stays for the next pump.
bool GpuProxy::send(PeerNetwork& network, Band band) {
  Batch& batch = batches_[static_cast<std::size_t>(band)];
  std::size_t offset = 0;
  batch.extents.clear();
  for (std::uint32_t run = 0; run < batch.runs.size(); ++run) {
    batch.extents.push_back({run, {batch.bytes.data() + offset, batch.extent_bytes[run]}});
    offset += batch.extent_bytes[run];
  }
  if (!network.send(options_.peer, band, batch.runs, batch.extents)) {
    return false;
  }
  counts_.slots_out += batch.slot_count;
  batch.clear();
  return true;
}

// --- From the network to the device

void GpuProxy::deliver(Band band,
                       std::span<const Slot> slots,
                       const PayloadView& payloads,
                       std::uint64_t now_ms) {
  auto payload = payloads.begin();
  for (std::uint32_t at = 0; at < slots.size(); ++at) {
    std::span<const std::byte> extent;
    std::uint32_t extents = 0;
    for (; payload != payloads.end() && (*payload).slot_index == at; ++payload, ++extents) {
      extent = (*payload).bytes;
    }
    const auto opening = proxy_word<ProxyOpening>(slots[at]);
    if (opening.epoch != options_.epoch || !goes_on(now_ms)) {
      ++counts_.dropped_epoch;
    } else if (extents > 1) {
      ++counts_.dropped_form;
    } else {
      on_word(band, slots[at], extent, now_ms);
    }
  }
}

void GpuProxy::on_word(Band band,
                       const Slot& slot,
                       std::span<const std::byte> extent,
                       std::uint64_t now_ms) {
  switch (proxy_word<ProxyOpening>(slot).word) {
    case ProxyWord::Run:
      on_run(band, proxy_word<ProxyRun>(slot), extent);
      return;
    case ProxyWord::Grants:
      on_grants(proxy_word<ProxyGrants>(slot));
      return;
    case ProxyWord::Liveness:
      on_liveness(proxy_word<ProxyLiveness>(slot), now_ms);
      return;
  }
  ++counts_.dropped_form;
}

void GpuProxy::on_liveness(const ProxyLiveness& word, std::uint64_t now_ms) {
  static_cast<void>(let_all_go());
  if (ended_) {
    return;
  }
  heard_ = true;
  heard_ms_ = now_ms;
  open_ = true;
  push_heartbeat(host_end_->device(), heartbeat_of(word), ++heartbeats_pushed_);
}

// Before the peer's device was heard, whether the peer has its end or not: it may take its time.
std::size_t GpuProxy::let_all_go() {
  std::size_t gone = 0;
  for (std::uint32_t number = 0; number < lanes_.size() && !heard_ && !ended_; ++number) {
    gone += let_go(number);
  }
  return gone;
}

// Whole messages that the device says to a peer that it takes for silent, one of which may come in
// pieces. A lane that was full lost some of one: half full is too near to that, since the device
// goes on so for one turn after the peer's first word.
std::size_t GpuProxy::let_go(std::uint32_t number) {
  Lane& lane = lanes_[number];
  ended_ = ended_ || is_half_full(number);
  std::size_t gone = 0;
  const std::uint32_t most = options_.layout.band[static_cast<std::size_t>(lane.band)].ring_slots;
  while (!ended_ && gone < most) {
    const SlotTile tile = lane.from.poll(1);
    if (tile.slot_count == 0) {
      break;
    }
    if (lane.behind != 0) {
      --lane.behind;
    } else if (options_.slots_behind) {
      lane.behind = options_.slots_behind(slot_of(tile));
    }
    lane.from.release(tile);
    ++gone;
  }
  if (gone != 0) {
    lane.from.grant();
  }
  counts_.slots_let_go += gone;
  return gone;
}

bool GpuProxy::is_half_full(std::uint32_t number) const {
  const Lane& lane = lanes_[number];
  const BandLanes& lanes = options_.layout.band[static_cast<std::size_t>(lane.band)];
  const std::uint32_t at = number - lane_number(options_.layout, lane.band, 0);
  const LaneWires wires = wires_of(host_end_->device(), lane.band, at);
  const std::uint64_t cursor = lane.from.state().credit.told + lanes.ring_slots / 2;
  const Packet packet =
      SystemOrder::take(wires.own_slots[slot_place(cursor, wires.slot_shift)].packet[0]);
  return packet.stamp == stamp_at(wires, cursor);
}

void GpuProxy::on_run(Band band, const ProxyRun& run, std::span<const std::byte> extent) {
  const bool known = run.lane < lanes_.size() && lanes_[run.lane].band == band;
  const bool cut = run.slot_count != 0 && run.slot_count <= kProxyRunSlots &&
                   (run.payload_bytes == 0 || run.slot_count == 1);
  if (!known || !cut || run.payload_bytes > lanes_[run.lane].payload_bytes_max ||
      extent.size() != run.slot_count * kSlotBytes + run.payload_bytes) {
    ++counts_.dropped_form;
    return;
  }
  Lane& lane = lanes_[run.lane];
  if (run.first != static_cast<std::uint32_t>(lane.receiving.received)) {
    ++counts_.dropped_gap;
    give_up(DropReason::BadField);
    return;
  }
  if (lane.receiving.on_slots(run.first, run.slot_count) != CursorVerdict::Accepted) {
    ++counts_.dropped_overrun;
    give_up(DropReason::CreditOverrun);
    return;
  }
  open_ = true;
  arrive(lane, run, extent);
}

void GpuProxy::arrive(Lane& lane, const ProxyRun& run, std::span<const std::byte> extent) {
  for (std::uint32_t k = 0; k < run.slot_count; ++k) {
    Staged next;
    std::memcpy(next.slot.bytes, extent.data() + k * kSlotBytes, kSlotBytes);
    if (run.payload_bytes != 0) {
      next.payload_bytes = run.payload_bytes;
      next.payload.resize((run.payload_bytes + sizeof(Words128) - 1) / sizeof(Words128));
      std::memcpy(
          static_cast<void*>(next.payload.data()), extent.data() + kSlotBytes, run.payload_bytes);
    }
    if (!lane.staged.empty() || !push(lane, next)) {
      lane.staged.push_back(std::move(next));
    }
  }
}

void GpuProxy::on_grants(const ProxyGrants& grants) {
  if (grants.count > kProxyGrantsMax) {
    ++counts_.dropped_form;
    return;
  }
  open_ = true;
  for (std::uint32_t k = 0; k < grants.count; ++k) {
    const ProxyGrant& grant = grants.grant[k];
    if (grant.lane >= lanes_.size()) {
      ++counts_.dropped_form;
    } else if (lanes_[grant.lane].sending.on_consumed(grant.consumed) == CursorVerdict::Overrun) {
      ++counts_.dropped_overrun;
    }
  }
}

std::size_t GpuProxy::drain(Lane& lane) {
  std::size_t moved = 0;
  while (!lane.staged.empty() && push(lane, lane.staged.front())) {
    lane.staged.pop_front();
    ++moved;
  }
  return moved;
}

// False: the device has no room in the lane.
bool GpuProxy::push(Lane& lane, const Staged& staged) {
  const Reservation place = lane.to.reserve(1, staged.payload_bytes);
  if (place.slot_count == 0) {
    return false;
  }
  if (staged.payload_bytes != 0) {
    lane.to.write(place, 0, staged.payload.data());
  }
  lane.to.publish(
      place, [&staged](std::uint32_t, std::uint32_t word) { return word_of(staged.slot, word); });
  lane.receiving.consume(1);
  ++counts_.slots_in;
  return true;
}

// The first reason stays.
void GpuProxy::give_up(DropReason reason) {
  fault_ = fault_ == DropReason::None ? reason : fault_;
}

DropReason GpuProxy::fault() const {
  if (fault_ != DropReason::None) {
    return fault_;
  }
  return device_end_->fault() != DropReason::None ? device_end_->fault() : host_end_->fault();
}

}  // namespace gcoord::netcore
