#include "server/replicas/snapshot_assembly.h"

#include "common/crc32c.h"
#include "server/replicas/shard_codec.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

std::unique_ptr<ArrivedSnapshot> SnapshotAssembly::on_chunk(const consensus::Message& message,
                                                            std::span<const std::byte> extent) {
  const auto chunk = decode_chunk(extent);
  if (!chunk || chunk->header.total_bytes > kSnapshotBytesMax) {
    metrics_.dropped(ReplicaDrop::BadChunk).add();
    return nullptr;
  }
  const ChunkHeader& header = chunk->header;
  Place place = find(message);
  if (header.offset_bytes == 0) {
    if (place != assemblies_.end()) {
      erase(place);
    }
    place = assemblies_.insert(
        assemblies_.end(),
        Assembly{message, header.total_bytes, header.total_crc, std::vector<std::byte>{}});
  }
  const bool continues =
      place != assemblies_.end() && place->total_bytes == header.total_bytes &&
      place->total_crc == header.total_crc && place->message.index == message.index &&
      place->message.term == message.term && place->bytes.size() == header.offset_bytes;
  if (!continues) {
    metrics_.dropped(ReplicaDrop::StrayChunk).add();
    return nullptr;
  }
  assemblies_.splice(assemblies_.end(), assemblies_, place);  // The newest is never evicted.
  make_room(chunk->bytes.size());
  place->bytes.insert(place->bytes.end(), chunk->bytes.begin(), chunk->bytes.end());
  held_bytes_ += chunk->bytes.size();
  return place->bytes.size() == place->total_bytes ? complete(place) : nullptr;
}

void SnapshotAssembly::drop_peer(NodeId peer) {
  for (Place place = assemblies_.begin(); place != assemblies_.end();) {
    const Place current = place++;
    if (current->message.from == peer) {
      erase(current);
    }
  }
}

SnapshotAssembly::Place SnapshotAssembly::find(const consensus::Message& message) {
  return std::find_if(assemblies_.begin(), assemblies_.end(), [&](const Assembly& assembly) {
    return assembly.message.shard == message.shard && assembly.message.from == message.from;
  });
}

void SnapshotAssembly::erase(Place place) {
  held_bytes_ -= place->bytes.size();
  assemblies_.erase(place);
}

void SnapshotAssembly::make_room(std::size_t byte_count) {
  while (assemblies_.size() > 1 &&
         (assemblies_.size() > kAssembliesMax || held_bytes_ + byte_count > kHeldBytesMax)) {
    erase(assemblies_.begin());
    metrics_.dropped(ReplicaDrop::SnapshotBusy).add();
  }
}

std::unique_ptr<ArrivedSnapshot> SnapshotAssembly::complete(Place place) {
  auto arrived = std::make_unique<ArrivedSnapshot>();
  arrived->message = place->message;
  arrived->bytes = std::move(place->bytes);
  held_bytes_ -= arrived->bytes.size();
  const std::uint32_t total_crc = place->total_crc;
  assemblies_.erase(place);
  const auto snapshot = decode_snapshot(arrived->bytes);
  if (crc32c(arrived->bytes) != total_crc || !snapshot ||
      !service_.plausible(arrived->message.shard, snapshot->service)) {
    metrics_.dropped(ReplicaDrop::BadChunk).add();
    return nullptr;
  }
  return arrived;
}

}  // namespace gcoord::server
