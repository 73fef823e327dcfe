#include "server/replicas/snapshot_sender.h"

#include "common/assert.h"
#include "common/crc32c.h"
#include "server/replicas/shard_codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gcoord::server {

using netcore::Band;

bool SnapshotSender::wants(const consensus::Message& message, const netcore::PeerNetwork& network) {
  const bool busy = std::any_of(transfers_.begin(), transfers_.end(), [&](const Transfer& known) {
    return known.message.shard == message.shard && known.message.to == message.to &&
           known.message.term == message.term;
  });
  if (!busy && network.credit(message.to, Band::Bulk) > 0) {
    return true;
  }
  metrics_.dropped(ReplicaDrop::SnapshotBusy).add();
  return false;
}

void SnapshotSender::start(const consensus::Message& message,
                           std::vector<std::byte> bytes,
                           netcore::PeerNetwork& network) {
  GCOORD_ASSERT(!bytes.empty());
  Transfer transfer{.message = message, .bytes = std::move(bytes)};
  transfer.crc = crc32c(transfer.bytes);
  if (transfer.bytes.size() <= kChunkBytes) {
    metrics_.snapshots_sent.add(send_chunk(transfer, network) ? 1 : 0);
    return;
  }
  if (transfers_.size() >= kTransfersMax || held_bytes_ + transfer.bytes.size() > kHeldBytesMax) {
    metrics_.dropped(ReplicaDrop::SnapshotBusy).add();
    return;
  }
  held_bytes_ += transfer.bytes.size();
  metrics_.snapshots_sent.add();
  transfers_.push_back(std::move(transfer));
}

std::size_t SnapshotSender::pump(netcore::PeerNetwork& network, Tick now) {
  std::size_t chunk_count = 0;
  for (auto transfer = transfers_.begin(); transfer != transfers_.end();) {
    while (transfer->sent_bytes < transfer->bytes.size() && send_chunk(*transfer, network)) {
      ++chunk_count;
    }
    const bool complete = transfer->sent_bytes == transfer->bytes.size();
    if (complete && transfer->forget_at == Tick{}) {
      transfer->forget_at = now + quiet_ticks_;
    }
    if (complete && transfer->forget_at <= now) {
      held_bytes_ -= transfer->bytes.size();
      transfer = transfers_.erase(transfer);
    } else {
      ++transfer;
    }
  }
  return chunk_count;
}

void SnapshotSender::drop_peer(NodeId peer) {
  transfers_.remove_if([&](const Transfer& transfer) {
    const bool gone = transfer.message.to == peer;
    held_bytes_ -= gone ? transfer.bytes.size() : 0;
    return gone;
  });
}

bool SnapshotSender::send_chunk(Transfer& transfer, netcore::PeerNetwork& network) {
  const std::size_t length = std::min(kChunkBytes, transfer.bytes.size() - transfer.sent_bytes);
  const ChunkHeader header{.offset_bytes = transfer.sent_bytes,
                           .total_bytes = transfer.bytes.size(),
                           .total_crc = transfer.crc};
  encode_chunk(extent_, header, std::span(transfer.bytes).subspan(transfer.sent_bytes, length));
  netcore::Slot slot;
  std::memcpy(slot.bytes, &transfer.message, sizeof transfer.message);
  const netcore::PayloadExtent extent{.slot_index = 0, .bytes = extent_};
  if (!network.send(transfer.message.to, Band::Bulk, {&slot, 1}, {&extent, 1})) {
    return false;
  }
  transfer.sent_bytes += length;
  return true;
}

}  // namespace gcoord::server
