// Reassembly of commands from the entries of a resident node: names and texts joined from their
// pieces, to the same bytes as an engine on the host has.
//
// Follows the entries of each shard in log order and keeps the pieces since the last entry that was
// none; so it decides as the node did (locks/commands/entry.h) which commands are whole. Which
// records are, it decides alone, and as every other host. Bounded:
// the last kRecordPiecesMax pieces per shard that has a command on its way. One thread.
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
  // The next entry of a shard. For a command, `bytes` is replaced by its encoding
  // (locks/commands/command.h); by one byte that no version decodes for one that cannot be. For a
  // record it is replaced by that.
  // command() is the same command until the next call.
  ReassembledKind take(ShardId shard,
                       LogIndex index,
                       const locks::LockEntry& entry,
                       std::vector<std::byte>& bytes);

  // The shard's entries go on somewhere else: a snapshot.
  void forget(ShardId shard) { pieces_.erase(shard.value); }

  // Pieces of the shard since the last entry that was none, which ends right before `next`.
  struct Pieces {
    LogIndex next;
    std::vector<locks::LockEntry> entries;
  };

  // What a state of the shard needs beside it; empty nearly always.
  Pieces pieces(ShardId shard) const {
    const auto found = pieces_.find(shard.value);
    return found == pieces_.end() ? Pieces{} : found->second;
  }

  // The same again, of a stored state.
  void put(ShardId shard, const Pieces& pieces) {
    forget(shard);
    if (!pieces.entries.empty()) {
      pieces_[shard.value] = pieces;
    }
  }

  // Whether a name of the shard is on its way: a state of the shard taken now would miss it.
  bool between(ShardId shard) const { return pieces_.contains(shard.value); }

  // Of the last take(), where it is surely equal in every field to what the bytes decode to; else
  // nullptr.
  const locks::LockCommand* command() const { return known_ ? &command_ : nullptr; }

 private:
  std::unordered_map<std::uint32_t, Pieces> pieces_;
  locks::LockCommand command_;
  locks::EntryName gathered_;  // The text that command_ points to.
  bool known_ = false;
};

}  // namespace gcoord::server
