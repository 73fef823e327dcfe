// The items that one turn of a node persists, encoded as they lie in the log of record.
//
// A batch is filled by one thread and handed over; clear() keeps its memory, so a warm batch does
// not allocate. Items take effect in the order of the calls. Integers are little-endian and packed:
//   HardState          kind u8 = 1, shard u32, term u64, vote u32
//   Entries            kind u8 = 2, shard u32, first index u64, count u32,
//                      then per entry: term u64, kind u8, length u32, payload
//   Truncate           kind u8 = 3, shard u32, from index u64
//   SnapshotInstalled  kind u8 = 4, shard u32, index u64, term u64, length u32, state
//   Commit             kind u8 = 5, shard u32, index u64
// The kinds are on disk: never renumber.
#pragma once

#include "common/ids.h"
#include "common/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::ledger {

class WalBatch {
 public:
  // Term and vote of a shard; a vote of NodeId 0 means that none was given in this term.
  void hard_state(ShardId shard, Term term, NodeId vote);

  // Announces entry_count entries from index `first` on; exactly that many entry() calls follow.
  // The rule of replay: writing at an index removes every older entry at and above that index.
  void begin_entries(ShardId shard, LogIndex first, std::uint32_t entry_count);

  // The next announced entry. `kind` is the caller's; payload is copied.
  void entry(Term term, std::uint8_t kind, std::span<const std::byte> payload);

  // Removes the entries of a shard at and above `from`.
  void truncate(ShardId shard, LogIndex from);

  // The shard's log now begins after `index` (of term `term`); all its older entries, below and
  // above, are gone. `state` is whatever the caller needs to install it again.
  void snapshot_installed(ShardId shard,
                          LogIndex index,
                          Term term,
                          std::span<const std::byte> state);

  // Everything of the shard up to `index` is decided: recovery may apply it before the node speaks
  // to its peers. A hint that rises; losing the newest one loses nothing.
  void commit(ShardId shard, LogIndex index);

  // Adds the other batch's items after the own ones.
  void append(const WalBatch& other);

  bool empty() const { return bytes_.empty(); }

  // Forgets the items, keeps the memory.
  void clear();

  std::uint32_t item_count() const { return item_count_; }

  // The encoded items; valid until the next change. Every announced entry has been added.
  std::span<const std::byte> encoded() const;

 private:
  std::byte* extend(std::size_t byte_count);

  std::vector<std::byte> bytes_;
  std::uint32_t item_count_ = 0;
  std::uint32_t entries_missing_ = 0;  // Announced by begin_entries and not yet added.
};

}  // namespace gcoord::ledger
