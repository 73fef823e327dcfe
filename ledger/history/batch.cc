#include "ledger/history/batch.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/crc32c.h"

#include <array>
#include <utility>

namespace gcoord::ledger {
namespace {

constexpr char kHead = 'h';
constexpr char kPeak = 'p';
constexpr char kTile = 't';
constexpr std::size_t kHeadKeyBytes = 5;
constexpr std::size_t kTileKeyBytes = 14;
constexpr std::size_t kCrcBytes = sizeof(std::uint32_t);
// Before a thing of a fragment: its length, then its checksum.
constexpr std::size_t kThingHeadBytes = 2 * sizeof(std::uint32_t);

template <typename T>
void put_high_first(std::string& key, T value) {
  for (std::size_t k = sizeof value; k-- > 0;) {
    key.push_back(static_cast<char>(value >> (8 * k) & 0xffu));
  }
}

template <typename T>
T get_high_first(std::string_view key) {
  T value = 0;
  for (std::size_t k = 0; k < sizeof value; ++k) {
    value = static_cast<T>(value << 8 | static_cast<unsigned char>(key[k]));
  }
  return value;
}

std::string level_key(char kind, ShardId shard, std::uint32_t level, std::uint64_t index) {
  std::string key(1, kind);
  put_high_first(key, shard.value);
  put_high_first(key, static_cast<std::uint8_t>(level));
  put_high_first(key, index);
  return key;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

std::uint32_t thing_crc(const TileAddress& place, std::span<const std::byte> thing) {
  std::array<std::byte, 16> where{};
  std::byte* at = store(where.data(), place.shard.value);
  at = store(at, place.tile_level);
  store(at, place.index);
  return crc32c(thing, crc32c(where));
}

}  // namespace

std::string head_key(ShardId shard) {
  std::string key(1, kHead);
  put_high_first(key, shard.value);
  return key;
}

std::string peak_key(ShardId shard, std::uint32_t level, std::uint64_t index) {
  return level_key(kPeak, shard, level, index);
}

std::string tile_key(ShardId shard, std::uint32_t tile_level, std::uint64_t index) {
  return level_key(kTile, shard, tile_level, index);
}

std::optional<TileAddress> tile_place(std::string_view key) {
  if (key.size() != kTileKeyBytes || key.front() != kTile) {
    return std::nullopt;
  }
  return TileAddress{ShardId{get_high_first<std::uint32_t>(key.substr(1))},
                     static_cast<std::uint8_t>(key[5]),
                     get_high_first<std::uint64_t>(key.substr(6))};
}

std::optional<ShardId> head_place(std::string_view key) {
  if (key.size() != kHeadKeyBytes || key.front() != kHead) {
    return std::nullopt;
  }
  return ShardId{get_high_first<std::uint32_t>(key.substr(1))};
}

std::optional<HistoryHead> decode_history_head(ShardId shard, std::span<const std::byte> value) {
  constexpr std::size_t kFixedBytes = kCrcBytes + 3 * sizeof(std::uint64_t);
  if (value.size() < kFixedBytes || (value.size() - kFixedBytes) % kMerkleHashBytes != 0) {
    return std::nullopt;
  }
  const std::span<const std::byte> body = value.subspan(kCrcBytes);
  if (load<std::uint32_t>(value.data()) != crc32c(body, crc32c(bytes_of(head_key(shard))))) {
    return std::nullopt;
  }
  HistoryHead head;
  head.frontier.size = load<std::uint64_t>(body.data());
  head.first = load<std::uint64_t>(body.data() + 8);
  head.bytes = load<std::uint64_t>(body.data() + 16);
  head.frontier.peaks.resize((value.size() - kFixedBytes) / kMerkleHashBytes);
  std::copy(value.begin() + kFixedBytes,
            value.end(),
            std::as_writable_bytes(std::span{head.frontier.peaks}).begin());
  return head.frontier.sane() && head.first <= head.frontier.size ? std::optional{head}
                                                                  : std::nullopt;
}

std::optional<MerkleHash> decode_peak(std::string_view key, std::span<const std::byte> value) {
  if (value.size() != kCrcBytes + kMerkleHashBytes ||
      load<std::uint32_t>(value.data()) !=
          crc32c(value.subspan(kCrcBytes), crc32c(bytes_of(key)))) {
    return std::nullopt;
  }
  MerkleHash hash;
  std::copy(value.begin() + kCrcBytes, value.end(), hash.begin());
  return hash;
}

std::optional<std::span<const std::byte>> FragmentReader::next() {
  if (rest_.size() < kThingHeadBytes) {
    return std::nullopt;
  }
  const auto length = load<std::uint32_t>(rest_.data());
  const auto crc = load<std::uint32_t>(rest_.data() + 4);
  if (length > rest_.size() - kThingHeadBytes) {
    return std::nullopt;
  }
  const std::span<const std::byte> thing = rest_.subspan(kThingHeadBytes, length);
  if (crc != thing_crc(place_, thing)) {
    return std::nullopt;
  }
  rest_ = rest_.subspan(kThingHeadBytes + length);
  ++place_.index;
  return thing;
}

void HistoryBatch::begin(std::string key) {
  changes_.push_back({std::move(key), bytes_.size(), 0});
}

void HistoryBatch::append(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  changes_.back().length += bytes.size();
}

void HistoryBatch::append_crc(std::uint32_t crc) {
  std::array<std::byte, kCrcBytes> bytes{};
  store(bytes.data(), crc);
  append(bytes);
}

void HistoryBatch::put_head(ShardId shard, const HistoryHead& head) {
  GCOORD_ASSERT(head.frontier.sane());
  std::array<std::byte, 3 * sizeof(std::uint64_t)> fixed{};
  std::byte* at = store(fixed.data(), head.frontier.size);
  at = store(at, head.first);
  store(at, head.bytes);
  const auto peaks = std::as_bytes(std::span{head.frontier.peaks});
  begin(head_key(shard));
  append_crc(crc32c(peaks, crc32c(fixed, crc32c(bytes_of(changes_.back().key)))));
  append(fixed);
  append(peaks);
}

void HistoryBatch::put_peak(ShardId shard,
                            std::uint32_t level,
                            std::uint64_t index,
                            const MerkleHash& hash) {
  begin(peak_key(shard, level, index));
  append_crc(crc32c(hash, crc32c(bytes_of(changes_.back().key))));
  append(hash);
}

void HistoryBatch::begin_fragment(const TileAddress& place) {
  place_ = place;
  begin(tile_key(place.shard, place.tile_level, place.index));
}

void HistoryBatch::add(std::span<const std::byte> thing) {
  std::array<std::byte, kThingHeadBytes> head{};
  std::byte* at = store(head.data(), static_cast<std::uint32_t>(thing.size()));
  store(at, thing_crc(place_, thing));
  append(head);
  append(thing);
  ++place_.index;
}

void HistoryBatch::remove(std::string key) {
  begin(std::move(key));
}

void HistoryBatch::clear() {
  bytes_.clear();
  changes_.clear();
}

HistoryBatch::Change HistoryBatch::change(std::size_t number) const {
  const Extent& extent = changes_[number];
  return {extent.key, std::span{bytes_}.subspan(extent.first, extent.length)};
}

}  // namespace gcoord::ledger
