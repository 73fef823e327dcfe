#include "ledger/checkpoint/checkpoint_batch.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/crc32c.h"

#include <array>
#include <limits>

namespace gcoord::ledger {

void encode_shard_key(ShardId shard, std::span<std::byte> key) {
  GCOORD_ASSERT(key.size() == kShardKeyBytes);
  for (std::size_t i = 0; i < kShardKeyBytes; ++i) {
    key[i] = static_cast<std::byte>(shard.value >> (8 * (kShardKeyBytes - 1 - i)));
  }
}

ShardId decode_shard_key(std::span<const std::byte> key) {
  GCOORD_ASSERT(key.size() == kShardKeyBytes);
  std::uint32_t value = 0;
  for (const std::byte byte : key) {
    value = value << 8 | std::to_integer<std::uint32_t>(byte);
  }
  return ShardId{value};
}

std::uint32_t value_crc(std::span<const std::byte> key, std::span<const std::byte> bytes) {
  return crc32c(bytes, crc32c(key));
}

void CheckpointBatch::put(CheckpointColumn column,
                          ShardId shard,
                          std::span<const std::byte> bytes) {
  GCOORD_ASSERT(column != CheckpointColumn::Meta);
  std::array<std::byte, kShardKeyBytes> key{};
  encode_shard_key(shard, key);
  add(column, key, bytes);
}

void CheckpointBatch::remove(CheckpointColumn column, ShardId shard) {
  GCOORD_ASSERT(column != CheckpointColumn::Meta);
  changes_.push_back(Place{column, bytes_.size(), kShardKeyBytes, 0});
  bytes_.resize(bytes_.size() + kShardKeyBytes);
  encode_shard_key(shard, std::span{bytes_}.last(kShardKeyBytes));
}

void CheckpointBatch::put_meta(std::string_view key, std::span<const std::byte> bytes) {
  GCOORD_ASSERT(!key.empty());
  GCOORD_ASSERT(key.front() != '.');
  add(CheckpointColumn::Meta, std::as_bytes(std::span{key.data(), key.size()}), bytes);
}

void CheckpointBatch::clear() {
  bytes_.clear();
  changes_.clear();
  lsn_ = Lsn{0};
}

CheckpointBatch::Change CheckpointBatch::change(std::size_t change_index) const {
  GCOORD_ASSERT(change_index < changes_.size());
  const Place& place = changes_[change_index];
  const auto bytes = std::span{bytes_}.subspan(place.offset, place.key_bytes + place.value_bytes);
  return Change{place.column, bytes.first(place.key_bytes), bytes.subspan(place.key_bytes)};
}

void CheckpointBatch::add(CheckpointColumn column,
                          std::span<const std::byte> key,
                          std::span<const std::byte> value) {
  GCOORD_ASSERT(value.size() < std::numeric_limits<std::uint32_t>::max() - kValueCrcBytes);
  changes_.push_back(Place{column,
                           bytes_.size(),
                           static_cast<std::uint32_t>(key.size()),
                           static_cast<std::uint32_t>(kValueCrcBytes + value.size())});
  std::array<std::byte, kValueCrcBytes> crc{};
  store(crc.data(), value_crc(key, value));
  bytes_.insert(bytes_.end(), key.begin(), key.end());
  bytes_.insert(bytes_.end(), crc.begin(), crc.end());
  bytes_.insert(bytes_.end(), value.begin(), value.end());
}

}  // namespace gcoord::ledger
