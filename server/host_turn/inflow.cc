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

// As far as the message says (consensus/step/settle.h): entries, notices and acknowledgements.
bool may_be_settled(const Message& message) {
  const auto plain = static_cast<std::uint8_t>(message.flags & ~consensus::kFlagNotice);
  return (message.kind == MessageKind::Append || message.kind == MessageKind::AppendReply) &&
         plain == 0;
}

}  // namespace

ReplicaInflow::ReplicaInflow(Environment environment, ChannelEvents events)
    : env_(std::move(environment)),
      events_(std::move(events)),
      assembly_(env_.service, env_.metrics) {}

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
      env_.metrics.dropped(ReplicaDrop::BadEntries).add();
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
    if (env_.votes == nullptr || !env_.votes->on_peer_message(from, extent)) {
      env_.service.on_peer_message(from, extent);
    }
    return;
  }
  if (band != Band::Consensus && band != Band::Bulk) {
    env_.metrics.dropped(ReplicaDrop::BandUnknown).add();
    return;
  }
  const Message message = message_of(slot);
  const bool snapshot = message.kind == MessageKind::Snapshot;
  Lane& lane = env_.lanes[env_.deal[consensus::slice_of(message.shard)]];
  const Target target{lane, lane.map.row_of(message.shard)};
  if (target.row == consensus::kNoRow || !well_formed(from, message) ||
      snapshot != (band == Band::Bulk)) {
    env_.metrics.dropped(ReplicaDrop::BadMessage).add();
    return;
  }
  env_.metrics.messages_in[static_cast<std::size_t>(message.kind)]->add();
  observe(message);
  if (snapshot) {
    on_chunk(target, message, extent);
  } else {
    on_message(target, message, extent);
  }
}

void ReplicaInflow::on_message(const Target& target,
                               const Message& message,
                               std::span<const std::byte> extent) {
  if (!well_formed_entries(message, extent)) {
    env_.metrics.dropped(ReplicaDrop::BadEntries).add();
    return;
  }
  if (may_be_settled(message) && target.lane.rows.find(target.row) == nullptr &&
      target.lane.arrivals.add(target.row, message, extent)) {
    return;
  }
  if (!target.lane.rows.add_message(target.row, message, extent)) {
    env_.metrics.dropped(ReplicaDrop::Overrun).add();
  }
}

void ReplicaInflow::on_chunk(const Target& target,
                             const Message& message,
                             std::span<const std::byte> extent) {
  if (auto arrived = assembly_.on_chunk(message, extent)) {
    target.lane.rows.put_snapshot(target.row, std::move(arrived));
  }
}

bool ReplicaInflow::well_formed(NodeId from, const Message& message) const {
  const auto kind = static_cast<std::uint8_t>(message.kind);
  const bool counted = message.count == 0 || message.kind == MessageKind::Append;
  return kind != 0 && kind <= consensus::kMessageKindLast && counted && message.from == from &&
         message.to == env_.self;
}

// Who campaigns or leads. Whether it may is the step's business.
void ReplicaInflow::observe(const Message& message) {
  if (env_.votes == nullptr) {
    return;
  }
  if (message.kind == MessageKind::Append) {
    env_.votes->on_leader({message.shard, message.term}, message.from);
  } else if (message.kind == MessageKind::Vote) {
    env_.votes->on_candidate({message.shard, message.term}, message.from);
  }
}

void ReplicaInflow::on_heartbeat(NodeId from, const netcore::Heartbeat& heartbeat) {
  heartbeats_.push_back({from,
                         {.incarnation = heartbeat.incarnation,
                          .echo_incarnation = heartbeat.echoed_incarnation,
                          .send = heartbeat.send_tick,
                          .echo = heartbeat.echoed_peer_send_tick},
                         heartbeat.durable});
}

void ReplicaInflow::on_peer_up(NodeId peer, Incarnation incarnation, std::uint32_t) {
  if (env_.votes != nullptr) {
    env_.votes->on_peer_up(peer, incarnation);
  }
  events_.up(peer);
}

void ReplicaInflow::on_peer_down(NodeId peer, std::string_view) {
  assembly_.drop_peer(peer);
  events_.down(peer);
}

void ReplicaInflow::on_refused(NodeId peer, const netcore::Refusal& refusal) {
  events_.refused(peer, refusal);
}

}  // namespace gcoord::server
