// Changes of one write to a history store, with the encoding of entries, nodes and heads.
//
// The history of a shard lies in tiles: 256 things of one level in a row, where level 0 is the
// entries and level k the hashes of the perfect subtrees of 2^(8k) leaves. A tile is written in
// fragments, as things come; a fragment's key names its first thing:
//
//   h shard 4                       the head: size, first entry kept, bytes kept, peaks
//   p shard 4, level 1, index 8     a subtree's hash at any level, of a shard that began with them
//   t shard 4, level 1, index 8     a fragment of a tile
//
// Numbers in keys have their highest byte first, so that they lie in order. Each thing of a
// fragment carries a CRC32C over its place and bytes, and so does a head: what comes back is what
// was written there, and a flipped bit is found with its index. Later fragments count where two
// hold the same thing. On disk: never change without a new format. Values have less than 4 GiB;
// one thread.
#pragma once

#include "common/ids.h"
#include "ledger/merkle/frontier.h"
#include "ledger/merkle/hash.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::ledger {

inline constexpr std::uint32_t kTileThings = 256;
inline constexpr std::uint32_t kTileLevels = 8;  // 256 = 2^8.

// What a store says of a shard as a whole.
struct HistoryHead {
  MerkleFrontier frontier;
  std::uint64_t first = 0;  // The first entry that is kept.
  std::uint64_t bytes = 0;  // Of the entries that are kept.
};

std::string head_key(ShardId shard);
std::string peak_key(ShardId shard, std::uint32_t level, std::uint64_t index);
std::string tile_key(ShardId shard, std::uint32_t tile_level, std::uint64_t index);

// What a tile's key names; nothing for other keys.
struct TileAddress {
  ShardId shard;
  std::uint32_t tile_level = 0;
  std::uint64_t index = 0;
};

std::optional<TileAddress> tile_place(std::string_view key);
std::optional<ShardId> head_place(std::string_view key);

// Nothing for a value that is damaged or of another shard.
std::optional<HistoryHead> decode_history_head(ShardId shard, std::span<const std::byte> value);
std::optional<MerkleHash> decode_peak(std::string_view key, std::span<const std::byte> value);

// The things of a fragment one after the other.
class FragmentReader {
 public:
  FragmentReader(const TileAddress& place, std::span<const std::byte> value)
      : place_(place), rest_(value) {}

  bool at_end() const { return rest_.empty(); }

  // The index of what next() gives.
  std::uint64_t index() const { return place_.index; }

  // Nothing: it is damaged, and nothing can be said of what follows.
  std::optional<std::span<const std::byte>> next();

 private:
  TileAddress place_;
  std::span<const std::byte> rest_;
};

class HistoryBatch {
 public:
  void put_head(ShardId shard, const HistoryHead& head);
  void put_peak(ShardId shard, std::uint32_t level, std::uint64_t index, const MerkleHash& hash);

  // A fragment, thing by thing: begin, then at least one add; all of one tile.
  void begin_fragment(const TileAddress& place);
  void add(std::span<const std::byte> thing);

  void remove(std::string key);

  bool empty() const { return changes_.empty(); }

  std::size_t size_bytes() const { return bytes_.size(); }

  // Keeps its memory.
  void clear();

  // Makes room for so many bytes of values, so that it does not grow by steps: what is large would
  // be copied to fresh pages again and again.
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }

  // In the order of the calls, which counts. A removed value is empty; spans live until the batch
  // changes.
  struct Change {
    std::string_view key;
    std::span<const std::byte> value;
  };

  std::size_t change_count() const { return changes_.size(); }

  Change change(std::size_t number) const;

 private:
  struct Extent {
    std::string key;
    std::size_t first = 0;
    std::size_t length = 0;
  };

  void begin(std::string key);
  void append(std::span<const std::byte> bytes);
  void append_crc(std::uint32_t crc);

  std::vector<std::byte> bytes_;
  std::vector<Extent> changes_;
  TileAddress place_;  // Of what add() adds next.
};

}  // namespace gcoord::ledger
