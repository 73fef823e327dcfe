#include "netcore/channel/channel.h"

#include "common/assert.h"
#include "netcore/memory/epoch.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gcoord::netcore {
namespace {

// Rpc may send this many bytes for each byte of Bulk: requests are small and somebody waits for
// them; a snapshot should still end.
constexpr std::uint64_t kRpcWeight = 4;

// The liveness word as it lies on the wire, with the sender's cursors: they tell the receiver about
// slots lost at the end of a burst, whose credit would otherwise never come back.
struct HeartbeatBody {
  std::uint64_t send_tick = 0;
  std::uint64_t echoed_peer_send_tick = 0;
  std::uint64_t durable = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t echoed_incarnation = 0;
  std::uint32_t flags = 0;
  std::uint32_t sent[kBandCount] = {};
  std::uint32_t reserved[3] = {};
};

static_assert(sizeof(HeartbeatBody) == kSlotBytes);

constexpr std::size_t kHeartbeatFrameBytes = kFrameHeaderBytes + kSlotBytes;

constexpr std::size_t index_of(Band band) {
  return static_cast<std::size_t>(band);
}

std::size_t first_frame_bytes(std::span<const std::byte> frames) {
  FrameHeader header;
  GCOORD_ASSERT(frames.size() >= sizeof(header));
  std::memcpy(&header, frames.data(), sizeof(header));
  return kFrameHeaderBytes + header.body_bytes;
}

// Cuts a send into frames at slot borders. Calls emit(first slot, slot count, extents of those);
// false as soon as one slot alone does not fit a frame.
template <typename Emit>
bool for_each_frame(std::span<const Slot> slots,
                    std::span<const PayloadExtent> extents,
                    const Emit& emit) {
  std::size_t next_extent = 0;
  for (std::size_t first = 0; first < slots.size();) {
    const std::size_t extents_begin = next_extent;
    std::size_t count = 0;
    std::size_t body = 0;
    while (first + count < slots.size() && count < kFrameSlotsMax) {
      std::size_t extents_end = next_extent;
      std::size_t grown = body + kSlotBytes;
      while (extents_end < extents.size() && extents[extents_end].slot_index == first + count) {
        grown += sizeof(ExtentRow) + padded_extent_bytes(extents[extents_end].bytes.size());
        ++extents_end;
      }
      // The last line of the frame may be padding.
      const bool fits = kFrameHeaderBytes + grown + kSlotBytes <= kFrameBytesMax &&
                        extents_end - extents_begin <= kFrameExtentsMax;
      if (!fits) {
        break;
      }
      body = grown;
      next_extent = extents_end;
      ++count;
    }
    if (count == 0) {
      return false;
    }
    emit(first, count, extents.subspan(extents_begin, next_extent - extents_begin));
    first += count;
  }
  return true;
}

}  // namespace

Channel::Channel(const ChannelOptions& options)
    : options_(options), heartbeat_frame_(kHeartbeatFrameBytes), grant_frame_(kFrameHeaderBytes) {
  for (std::size_t i = 0; i < kBandCount; ++i) {
    senders_[i].capacity = options.peer_ring_slots[i];
    receivers_[i].capacity = options.own_ring_slots[i];
  }
}

std::uint32_t Channel::credit(Band band) const {
  if (unsent_bytes_ >= options_.unsent_bytes_max) {
    return 0;
  }
  return senders_[index_of(band)].available(CreditClass::Ordinary);
}

bool Channel::send(Band band, std::span<const Slot> slots, std::span<const PayloadExtent> extents) {
  GCOORD_ASSERT(!slots.empty());
  if (slots.size() > credit(band)) {
    return false;
  }
  std::uint32_t previous_slot = 0;
  for (const PayloadExtent& extent : extents) {
    GCOORD_ASSERT(extent.slot_index >= previous_slot);
    GCOORD_ASSERT(extent.slot_index < slots.size());
    GCOORD_ASSERT(extent.bytes.size() <= kExtentBytesMax[index_of(band)]);
    previous_slot = extent.slot_index;
  }
  std::size_t total_bytes = 0;
  const bool fits = for_each_frame(slots, extents, [&](auto, auto count, auto part) {
    total_bytes += frame_bytes(count, part);
  });
  if (!fits || unsent_bytes_ + total_bytes > options_.unsent_bytes_max) {
    return false;
  }
  for_each_frame(slots, extents, [&](auto first, auto count, auto part) {
    queue_frame(band, slots.subspan(first, count), part, static_cast<std::uint32_t>(first));
  });
  return true;
}

void Channel::queue_frame(Band band,
                          std::span<const Slot> slots,
                          std::span<const PayloadExtent> extents,
                          std::uint32_t first_slot_index) {
  CreditSender& sender = senders_[index_of(band)];
  FrameHeader header = next_header(FrameKind::Slots, band);
  header.sequence = static_cast<std::uint32_t>(sender.sent);
  sender.take(static_cast<std::uint32_t>(slots.size()), CreditClass::Ordinary);
  const std::size_t bytes = frame_bytes(slots.size(), extents);
  encode_frame(header, slots, extents, first_slot_index, queues_[index_of(band)].push(bytes));
  unsent_bytes_ += bytes;
}

void Channel::heartbeat(const Heartbeat& heartbeat) {
  pending_heartbeat_ = heartbeat;
  heartbeat_waits_ = true;
}

FrameHeader Channel::next_header(FrameKind kind, Band band) {
  FrameHeader header;
  header.kind = kind;
  header.band = band;
  header.cluster = options_.cluster.value;
  header.from_node = static_cast<std::uint16_t>(options_.self.value);
  header.to_node = static_cast<std::uint16_t>(options_.peer.value);
  header.incarnation = options_.self_incarnation.value;
  header.epoch = options_.epoch;
  std::transform(receivers_.begin(), receivers_.end(), header.consumed.begin(), [](auto& receiver) {
    return receiver.tell();
  });
  return header;
}

void Channel::encode_heartbeat() {
  HeartbeatBody body;
  body.send_tick = pending_heartbeat_.send_tick.value;
  body.echoed_peer_send_tick = pending_heartbeat_.echoed_peer_send_tick.value;
  body.incarnation = pending_heartbeat_.incarnation.value;
  body.echoed_incarnation = pending_heartbeat_.echoed_incarnation.value;
  body.flags = pending_heartbeat_.flags;
  body.durable = pending_heartbeat_.durable;
  for (std::size_t i = 0; i < kBandCount; ++i) {
    // What still waits in the queue comes after this word and must not be taken for lost.
    const std::span<const std::byte> waiting = queues_[i].waiting();
    std::uint32_t sent = static_cast<std::uint32_t>(senders_[i].sent);
    if (!waiting.empty()) {
      FrameHeader oldest;
      std::memcpy(&oldest, waiting.data(), sizeof(oldest));
      sent = oldest.sequence;
    }
    body.sent[i] = sent;
  }
  Slot slot;
  std::memcpy(&slot, &body, sizeof(slot));
  FrameHeader header = next_header(FrameKind::Heartbeat, Band::Control);
  header.sequence = static_cast<std::uint32_t>(heartbeats_sent_ + 1);
  encode_frame(header, {&slot, 1}, {}, 0, {heartbeat_frame_.data(), kHeartbeatFrameBytes});
}

void Channel::encode_grant() {
  const FrameHeader header = next_header(FrameKind::Grant, Band::Control);
  encode_frame(header, {}, {}, 0, {grant_frame_.data(), kFrameHeaderBytes});
  grant_waits_ = true;  // Until it has left: the receiver's cursor already counts as told.
}

bool Channel::wants_grant() const {
  return std::any_of(receivers_.begin(), receivers_.end(), [](const CreditReceiver& receiver) {
    return receiver.wants_grant();
  });
}

std::size_t Channel::collect_queued(std::span<std::span<const std::byte>> out, std::size_t at) {
  constexpr std::size_t kRpc = index_of(Band::Rpc);
  constexpr std::size_t kBulk = index_of(Band::Bulk);
  std::array<std::span<const std::byte>, kBandCount> waiting;
  for (std::size_t i = 0; i < kBandCount; ++i) {
    waiting[i] = queues_[i].waiting();
  }
  std::uint64_t rpc_share = rpc_share_;
  std::uint64_t bulk_share = bulk_share_;
  for (; at < out.size(); ++at) {
    std::size_t band = index_of(Band::Control);
    if (waiting[band].empty()) {
      band = index_of(Band::Consensus);
    }
    if (waiting[band].empty()) {
      const bool bulk_goes =
          waiting[kRpc].empty() || (!waiting[kBulk].empty() && bulk_share < rpc_share);
      band = bulk_goes ? kBulk : kRpc;
    }
    if (waiting[band].empty()) {
      break;
    }
    const std::size_t bytes = first_frame_bytes(waiting[band]);
    rpc_share += band == kRpc ? bytes : 0;
    bulk_share += band == kBulk ? bytes * kRpcWeight : 0;
    collected_[at] = static_cast<Source>(band);
    out[at] = waiting[band].first(bytes);
    waiting[band] = waiting[band].subspan(bytes);
  }
  return at;
}

std::size_t Channel::collect(std::span<std::span<const std::byte>> out) {
  out = out.first(std::min(out.size(), kCollectMax));
  std::size_t count = 0;
  if (heartbeat_waits_ && count < out.size()) {
    encode_heartbeat();
    collected_[count] = Source::Heartbeat;
    out[count++] = {heartbeat_frame_.data(), kHeartbeatFrameBytes};
  }
  // Queued frames carry cursors from when they were encoded, so a grant may be wanted beside them.
  if ((grant_waits_ || wants_grant()) && count < out.size()) {
    encode_grant();
    collected_[count] = Source::Grant;
    out[count++] = {grant_frame_.data(), kFrameHeaderBytes};
  }
  count = collect_queued(out, count);
  for (std::size_t i = 0; i < count; ++i) {
    collected_bytes_[i] = out[i].size();
  }
  collected_count_ = count;
  return count;
}

void Channel::taken(std::size_t count) {
  GCOORD_ASSERT(count <= collected_count_);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = collected_bytes_[i];
    switch (collected_[i]) {
      case Source::Heartbeat:
        heartbeat_waits_ = false;
        ++heartbeats_sent_;
        break;
      case Source::Grant:
        grant_waits_ = false;
        break;
      case Source::Rpc:
        rpc_share_ += bytes;
        break;
      case Source::Bulk:
        bulk_share_ += bytes * kRpcWeight;
        break;
      case Source::Control:
      case Source::Consensus:
        break;
    }
    if (static_cast<std::size_t>(collected_[i]) < kBandCount) {
      queues_[static_cast<std::size_t>(collected_[i])].pop(bytes);
      unsent_bytes_ -= bytes;
    }
  }
  collected_count_ = 0;
  // An idle band must not save up a claim on the future.
  const std::uint64_t least = std::min(rpc_share_, bulk_share_);
  rpc_share_ = queues_[index_of(Band::Bulk)].empty() ? 0 : rpc_share_ - least;
  bulk_share_ = queues_[index_of(Band::Rpc)].empty() ? 0 : bulk_share_ - least;
}

DropReason Channel::check_origin(const FrameHeader& header) const {
  if (header.cluster != options_.cluster.value) {
    return DropReason::WrongCluster;
  }
  if (header.from_node != options_.peer.value || header.to_node != options_.self.value) {
    return DropReason::WrongNode;
  }
  if (is_later_epoch(options_.epoch, header.epoch) ||
      header.incarnation < options_.peer_incarnation.value) {
    return DropReason::StaleEpoch;
  }
  if (header.epoch != options_.epoch || header.incarnation != options_.peer_incarnation.value) {
    return DropReason::WrongNode;
  }
  return DropReason::None;
}

DropReason Channel::on_credit(const FrameHeader& header) {
  // Judge all four before booking any: nothing of a bad frame is applied.
  for (std::size_t i = 0; i < kBandCount; ++i) {
    CreditSender trial = senders_[i];
    if (trial.on_consumed(header.consumed[i]) == CursorVerdict::Overrun) {
      return DropReason::CreditOverrun;
    }
  }
  for (std::size_t i = 0; i < kBandCount; ++i) {
    senders_[i].on_consumed(header.consumed[i]);
  }
  return DropReason::None;
}

DropReason Channel::on_frame(const FrameView& frame, ChannelEvents& events) {
  const DropReason origin = check_origin(frame.header);
  if (origin != DropReason::None) {
    return origin;
  }
  switch (frame.header.kind) {
    case FrameKind::Slots:
      return on_slot_frame(frame, events);
    case FrameKind::Grant:
      if (!frame.slots.empty() || !frame.payloads.empty()) {
        return DropReason::BadLength;
      }
      return on_credit(frame.header);
    case FrameKind::Heartbeat:
      return on_heartbeat(frame, events);
    case FrameKind::Welcome:
      return DropReason::StaleSequence;  // The answer that opened this channel, repeated on the
                                         // way.
    case FrameKind::Hello:
    case FrameKind::Refusal:
    case FrameKind::Setup:
    case FrameKind::Challenge:
    case FrameKind::Proven:
      break;
  }
  return DropReason::UnexpectedKind;
}

DropReason Channel::on_slot_frame(const FrameView& frame, ChannelEvents& events) {
  const FrameHeader& header = frame.header;
  if (frame.slots.empty()) {
    return DropReason::BadLength;
  }
  CreditReceiver& receiver = receivers_[index_of(header.band)];
  CreditReceiver booked = receiver;
  switch (booked.on_slots(header.sequence, header.slot_count)) {
    case CursorVerdict::Stale:
      return DropReason::StaleSequence;
    case CursorVerdict::Overrun:
      return DropReason::CreditOverrun;
    case CursorVerdict::Accepted:
      break;
  }
  const DropReason credit = on_credit(header);
  if (credit != DropReason::None) {
    return credit;
  }
  receiver = booked;
  events.on_slots(header.band, frame.slots, frame.payloads);
  Kept& kept = kept_[index_of(header.band)];
  if (kept.held) {
    kept.slot_count += header.slot_count;
  } else {
    receiver.consume(header.slot_count);
  }
  return DropReason::None;
}

void Channel::hold_credit(Band band, bool held) {
  Kept& kept = kept_[index_of(band)];
  kept.held = held;
  if (!held) {
    receivers_[index_of(band)].consume(std::exchange(kept.slot_count, 0));
  }
}

DropReason Channel::on_heartbeat(const FrameView& frame, ChannelEvents& events) {
  if (frame.slots.size() != 1 || !frame.payloads.empty()) {
    return DropReason::BadLength;
  }
  const std::uint64_t sequence = widen_cursor(frame.header.sequence, heartbeats_received_);
  if (sequence <= heartbeats_received_) {
    return DropReason::StaleSequence;
  }
  HeartbeatBody body;
  std::memcpy(&body, frame.slots.front().bytes, sizeof(body));
  std::array<CreditReceiver, kBandCount> booked = receivers_;
  for (std::size_t i = 0; i < kBandCount; ++i) {
    // Stale is usual here: a word overtakes data on purpose.
    if (booked[i].on_slots(body.sent[i], 0) == CursorVerdict::Overrun) {
      return DropReason::CreditOverrun;
    }
  }
  const DropReason credit = on_credit(frame.header);
  if (credit != DropReason::None) {
    return credit;
  }
  receivers_ = booked;
  heartbeats_received_ = sequence;
  Heartbeat heartbeat;
  heartbeat.incarnation = Incarnation{body.incarnation};
  heartbeat.send_tick = Tick{body.send_tick};
  heartbeat.echoed_peer_send_tick = Tick{body.echoed_peer_send_tick};
  heartbeat.echoed_incarnation = Incarnation{body.echoed_incarnation};
  heartbeat.flags = body.flags;
  heartbeat.durable = body.durable;
  events.on_heartbeat(heartbeat);
  return DropReason::None;
}

std::uint64_t Channel::lost_slots() const {
  std::uint64_t lost = 0;
  for (const CreditReceiver& receiver : receivers_) {
    lost += receiver.lost;
  }
  return lost;
}

}  // namespace gcoord::netcore
