// Changes of one checkpoint, encoded for the store.
//
// Filled by one thread and handed over; clear() keeps its memory. Values are opaque; each is copied
// behind a CRC32C over its key and bytes, so a value that RocksDB hands out for the wrong key is
// found out too. The last call for a key wins. Values have less than 4 GiB; nothing here fails.
#pragma once

#include "common/ids.h"
#include "ledger/base/lsn.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::ledger {

// Column families on disk, found by name: never rename. Meta belongs to the whole node.
enum class CheckpointColumn : std::uint8_t { Hard, Service, Meta };

class CheckpointBatch {
 public:
  // Sets a shard's value in Hard or Service.
  void put(CheckpointColumn column, ShardId shard, std::span<const std::byte> bytes);

  // Removes it; nothing happens when there is none.
  void remove(CheckpointColumn column, ShardId shard);

  // Sets a value of the whole node, beside the lsn: epochs, configuration. Keys that begin with "."
  // are the store's own.
  void put_meta(std::string_view key, std::span<const std::byte> bytes);

  // After this batch the store covers every record of the log with lsn <= this; 0 changes nothing.
  void covers(Lsn lsn) { lsn_ = lsn; }

  Lsn lsn() const { return lsn_; }

  // Nothing to change and no lsn.
  bool empty() const { return lsn_ == Lsn{0} && changes_.empty(); }

  // Encoded bytes of keys and values so far.
  std::size_t size_bytes() const { return bytes_.size(); }

  // Forgets the changes and the lsn, keeps the memory.
  void clear();

  // One change, for the store. A removed value is empty; spans live until the batch changes.
  struct Change {
    CheckpointColumn column;
    std::span<const std::byte> key;
    std::span<const std::byte> value;
  };

  // In the order of the calls.
  std::size_t change_count() const { return changes_.size(); }

  Change change(std::size_t change_index) const;

 private:
  // Where a change lies in bytes_: key, then checksum and value; no value bytes for a removal.
  struct Place {
    CheckpointColumn column;
    std::size_t offset;
    std::uint32_t key_bytes;
    std::uint32_t value_bytes;
  };

  void add(CheckpointColumn column,
           std::span<const std::byte> key,
           std::span<const std::byte> value);

  std::vector<std::byte> bytes_;
  std::vector<Place> changes_;
  Lsn lsn_;
};

// The key of a shard, big-endian so that keys sort as shards do.
inline constexpr std::size_t kShardKeyBytes = 4;
void encode_shard_key(ShardId shard, std::span<std::byte> key);
ShardId decode_shard_key(std::span<const std::byte> key);

// The checksum that lies before a value.
inline constexpr std::size_t kValueCrcBytes = 4;
std::uint32_t value_crc(std::span<const std::byte> key, std::span<const std::byte> bytes);

}  // namespace gcoord::ledger
