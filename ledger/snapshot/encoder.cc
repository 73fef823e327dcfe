#include "ledger/snapshot/encoder.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/crc32c.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace gcoord::ledger {
namespace {

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  store(bytes.data() + at, value);
}

void append_header(std::vector<std::byte>& bytes, const SnapshotHeader& header) {
  append(bytes, header.cluster.value);
  append(bytes, header.time_ms);
  append(bytes, header.node.value);
  append(bytes, header.shard_count);
  append(bytes, (header.durable ? 1u : 0u) | (header.ledger ? 2u : 0u));
  append(bytes, static_cast<std::uint32_t>(header.nodes.size()));
  for (const SnapshotNode& each : header.nodes) {
    append(bytes, each.node.value);
    append(bytes, each.incarnation.value);
  }
  append(bytes, static_cast<std::uint16_t>(header.release.size()));
  const auto text = std::as_bytes(std::span{header.release});
  bytes.insert(bytes.end(), text.begin(), text.end());
}

}  // namespace

SnapshotEncoder::SnapshotEncoder(const SnapshotHeader& header, Sink sink)
    : sink_(std::move(sink)), declared_shards_(header.shard_count) {
  GCOORD_ASSERT(header.nodes.size() <= kSnapshotNodesMax);
  GCOORD_ASSERT(header.release.size() <= kSnapshotReleaseBytesMax);
  std::vector<std::byte> prologue(kSnapshotMagic.size());
  std::memcpy(prologue.data(), kSnapshotMagic.data(), kSnapshotMagic.size());
  append(prologue, kSnapshotFormatNewest);
  append(prologue, crc32c(prologue));
  emit(prologue);
  payload_.clear();
  append_header(payload_, header);
  part(SnapshotKind::Header, kSnapshotLastPart, ShardId{}, payload_);
}

void SnapshotEncoder::shard(SnapshotShard shard, std::span<const std::byte> state) {
  GCOORD_ASSERT(end_.shard_count == 0 || shard.shard > shard_);
  GCOORD_ASSERT(shard.shard.value < declared_shards_);
  GCOORD_ASSERT(shard.applied_term <= shard.term);
  payload_.clear();
  append(payload_, shard.applied.value);
  append(payload_, shard.applied_term.value);
  append(payload_, shard.term.value);
  append(payload_, static_cast<std::uint64_t>(state.size()));
  shard_ = shard.shard;
  kind_ = SnapshotKind::Shard;
  ++end_.shard_count;
  part(SnapshotKind::Shard, kSnapshotLastPart, shard_, payload_);
  section(SnapshotKind::State, 0, state);
}

void SnapshotEncoder::frontier(const SnapshotFrontier& frontier) {
  GCOORD_ASSERT(frontier.peaks.size() == static_cast<std::size_t>(std::popcount(frontier.size)));
  payload_.clear();
  append(payload_, frontier.size);
  for (const MerkleHash& peak : frontier.peaks) {
    payload_.insert(payload_.end(), peak.begin(), peak.end());
  }
  section(SnapshotKind::Frontier, 0, payload_);
}

void SnapshotEncoder::section(SnapshotKind kind,
                              std::uint16_t flags,
                              std::span<const std::byte> bytes) {
  GCOORD_ASSERT(kind > kind_ && kind < SnapshotKind::End);
  kind_ = kind;
  do {
    const std::size_t size = std::min(bytes.size(), kSnapshotPartBytesMax);
    const bool last = size == bytes.size();
    const auto ends = static_cast<std::uint16_t>(flags | kSnapshotLastPart);
    part(kind, last ? ends : flags, shard_, bytes.first(size));
    bytes = bytes.subspan(size);
  } while (!bytes.empty());
}

void SnapshotEncoder::finish() {
  const SnapshotEnd end = end_;
  payload_.clear();
  append(payload_, end.shard_count);
  append(payload_, end.section_count);
  append(payload_, end.bytes);
  part(SnapshotKind::End, kSnapshotLastPart, ShardId{}, payload_);
  const Sha256Stream::Digest digest = hash_.finish();
  sink_(digest);
}

void SnapshotEncoder::part(SnapshotKind kind,
                           std::uint16_t flags,
                           ShardId shard,
                           std::span<const std::byte> payload) {
  std::vector<std::byte> head;
  head.reserve(kSnapshotHeadBytes);
  append(head, static_cast<std::uint16_t>(kind));
  append(head, flags);
  append(head, shard.value);
  append(head, static_cast<std::uint32_t>(payload.size()));
  append(head, std::uint32_t{0});
  append(head, crc32c(payload));
  append(head, crc32c(head));
  GCOORD_ASSERT(head.size() == kSnapshotHeadBytes);
  ++end_.section_count;
  emit(head);
  emit(payload);
}

void SnapshotEncoder::emit(std::span<const std::byte> bytes) {
  if (!bytes.empty()) {
    hash_.add(bytes);
    end_.bytes += bytes.size();
    sink_(bytes);
  }
}

}  // namespace gcoord::ledger
