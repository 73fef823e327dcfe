#include "server/host_turn/inflow.h"

#include "server/replicas/shard_codec.h"

#include <cstring>
#include <utility>

namespace gcoord::server {
namespace {

using consensus::Message;
using consensus::MessageKind;
using netcore::Band;

Message message_of(const netcore::Slot& slot) {
  static_assert(sizeof(Message) == sizeof slot.bytes);
  Message message;
  std::memcpy(&message, slot.bytes, sizeof message);
  return message;
}

}  // namespace

ReplicaInflow::ReplicaInflow(const Options& options,
                             ActiveRows& rows,
                             StateMachine& service,
                             ReplicaMetrics& metrics,
                             ChannelEvents events)
    : options_(options),
      rows_(rows),
      service_(service),
      metrics_(metrics),
      events_(std::move(events)),
      assembly_(service, metrics) {}

void ReplicaInflow::on_frame(NodeId from,
                             Band band,
                             std::span<const netcore::Slot> slots,
                             const netcore::PayloadView& payloads) {
  auto payload = payloads.begin();
  std::uint32_t payloads_left = payloads.size();
  for (std::uint32_t k = 0; k < slots.size(); ++k) {
    std::span<const std::byte> extent;
    std::uint32_t extent_count = 0;
    for (; payloads_left > 0 && (*payload).slot_index == k; ++payload, --payloads_left) {
      extent = (*payload).bytes;
      ++extent_count;
    }
    if (extent_count > 1) {
      metrics_.dropped(ReplicaDrop::BadEntries).add();
      continue;
    }
    on_slot(from, band, slots[k], extent);
  }
}

void ReplicaInflow::on_slot(NodeId from,
                            Band band,
                            const netcore::Slot& slot,
                            std::span<const std::byte> extent) {
  if (band == Band::Rpc) {
    service_.on_peer_message(from, extent);
    return;
  }
  if (band != Band::Consensus && band != Band::Bulk) {
    metrics_.dropped(ReplicaDrop::BandUnknown).add();
    return;
  }
  const Message message = message_of(slot);
  const bool snapshot = message.kind == MessageKind::Snapshot;
  const std::uint32_t row = options_.map.row_of(message.shard);
  if (row == consensus::kNoRow || !well_formed(from, message) || snapshot != (band == Band::Bulk)) {
    metrics_.dropped(ReplicaDrop::BadMessage).add();
    return;
  }
  metrics_.messages_in[static_cast<std::size_t>(message.kind)]->add();
  if (snapshot) {
    on_chunk(row, message, extent);
  } else {
    on_message(row, message, extent);
  }
}

void ReplicaInflow::on_message(std::uint32_t row,
                               const Message& message,
                               std::span<const std::byte> extent) {
  if (!well_formed_entries(message, extent)) {
    metrics_.dropped(ReplicaDrop::BadEntries).add();
    return;
  }
  const bool notice = message.kind == MessageKind::Append && message.count == 0 &&
                      message.flags == consensus::kFlagNotice;
  if (notice && notices_.size() < ActiveRows::kMessagesMax && rows_.find(row) == nullptr) {
    notices_.push_back({row, message});
    return;
  }
  if (!rows_.add_message(row, message, extent)) {
    metrics_.dropped(ReplicaDrop::Overrun).add();
  }
}

void ReplicaInflow::on_chunk(std::uint32_t row,
                             const Message& message,
                             std::span<const std::byte> extent) {
  if (auto arrived = assembly_.on_chunk(message, extent)) {
    rows_.touch(row).snapshot = std::move(arrived);
  }
}

bool ReplicaInflow::well_formed(NodeId from, const Message& message) const {
  const auto kind = static_cast<std::uint8_t>(message.kind);
  const bool counted = message.count == 0 || message.kind == MessageKind::Append;
  return kind != 0 && kind <= consensus::kMessageKindLast && counted && message.from == from &&
         message.to == options_.self;
}

void ReplicaInflow::on_heartbeat(NodeId from, const netcore::Heartbeat& heartbeat) {
  heartbeats_.push_back({from,
                         {.incarnation = heartbeat.incarnation,
                          .echo_incarnation = heartbeat.echoed_incarnation,
                          .send = heartbeat.send_tick,
                          .echo = heartbeat.echoed_peer_send_tick},
                         heartbeat.durable});
}

void ReplicaInflow::on_peer_up(NodeId peer, Incarnation, std::uint32_t) {
  events_.up(peer);
}

void ReplicaInflow::on_peer_down(NodeId peer, std::string_view) {
  assembly_.drop_peer(peer);
  events_.down(peer);
}

void ReplicaInflow::on_refused(NodeId, const netcore::Refusal& refusal) {
  events_.refused(refusal);
}

}  // namespace gcoord::server
