// Reassembly of commands from the entries of a resident node: names and texts joined from their
// pieces, to the same bytes as an engine on the host has.
//
// Follows the entries of each shard in log order and keeps the pieces since the last entry that was
// none; so it decides as the node did (locks/commands/entry.h) which commands are whole. Which
// records are, it decides alone, and as every other host. Bounded: the last kRecordPiecesMax pieces
// per shard that has a command on its way; their memory is kept for the next ones. One thread.
#pragma once

#include "common/ids.h"
#include "locks/commands/entry.h"
#include "locks/commands/entry_record.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

enum class ReassembledKind : std::uint8_t {
  Nothing,  // No command: a no-op, a piece, a configuration, or one whose pieces are missing.
  Barrier,
  Command,
  Record,  // Of another service; see locks/commands/entry_record.h.
};

class CommandReassembler {
 public:
  // The next entry of a shard. command() and append_to() say what it was until the next call.
  ReassembledKind take(ShardId shard, LogIndex index, const locks::LockEntry& entry);

  // Of a command appends its encoding (locks/commands/command.h), and one byte that no version
  // decodes for one that cannot be; of a record appends that. Of anything else nothing.
  void append_to(std::vector<std::byte>& bytes) const;

  // The shard's entries go on somewhere else: a snapshot.
  void forget(ShardId shard);

  // Pieces of the shard since the last entry that was none, which ends right before `next`.
  struct Pieces {
    LogIndex next;
    std::vector<locks::LockEntry> entries;
  };

  // What a state of the shard needs beside it; empty nearly always.
  Pieces pieces(ShardId shard) const {
    return between(shard) ? pool_[places_[shard.value] - 1] : Pieces{};
  }

  // The same again, of a stored state.
  void put(ShardId shard, const Pieces& pieces);

  // Whether a name of the shard is on its way: a state of the shard taken now would miss it.
  bool between(ShardId shard) const {
    return shard.value < places_.size() && places_[shard.value] != 0;
  }

  // Of the last take(), where it is surely equal in every field to what the bytes decode to; else
  // nullptr.
  const locks::LockCommand* command() const { return known_ ? &command_ : nullptr; }

 private:
  Pieces& open(ShardId shard);
  void take_piece(ShardId shard, LogIndex index, const locks::LockEntry& entry);
  ReassembledKind take_whole(std::span<const locks::LockEntry> pieces,
                             LogIndex index,
                             const locks::LockEntry& entry);

  std::vector<std::uint32_t> places_;  // By shard, as far as one had pieces: in the pool, from 1.
  std::vector<Pieces> pool_;
  std::vector<std::uint32_t> free_;                  // Places of the pool.
  ReassembledKind kind_ = ReassembledKind::Nothing;  // Of the last take(),
  locks::LockCommand command_;                       // and what it was.
  locks::EntryBytes gathered_;                       // The text that command_ points to.
  std::vector<std::byte> record_;
  bool known_ = false;
};

}  // namespace gcoord::server
