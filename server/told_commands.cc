#include "server/told_commands.h"

#include "common/assert.h"

#include <utility>

namespace gcoord::server {
namespace {

void encode_whole(const locks::LockEntry& entry,
                  const locks::EntryName& name,
                  std::vector<std::byte>& bytes) {
  bytes.clear();
  locks::LockCommand command = locks::command_of(entry);
  if (command.kind == locks::LockCommandKind::Unknown) {
    bytes.push_back(std::byte{static_cast<std::uint8_t>(command.kind)});
    return;
  }
  command.name = name.bytes;
  locks::encode(command, bytes);
}

}  // namespace

ToldKind ToldCommands::take(ShardId shard,
                            LogIndex index,
                            const locks::LockEntry& entry,
                            std::vector<std::byte>& bytes) {
  if (entry.kind() == locks::kEntryPiece) {
    Pieces& pieces = pieces_[shard.value];
    if (pieces.next != index || pieces.entries.size() >= locks::kPiecesMax) {
      pieces.entries.clear();
    }
    pieces.entries.push_back(entry);
    pieces.next = index + 1;
    return ToldKind::Nothing;
  }
  Pieces pieces;
  if (const auto found = pieces_.find(shard.value); found != pieces_.end()) {
    pieces = std::move(found->second);
    pieces_.erase(found);
  }
  if (entry.kind() == 0 || entry.kind() == locks::kEntryConfiguration) {
    return ToldKind::Nothing;
  }
  if (entry.kind() == locks::kEntryBarrier) {
    return ToldKind::Barrier;
  }
  const auto log = [&pieces](LogIndex earlier) {
    const std::uint64_t back = pieces.next.value - earlier.value;
    return back >= 1 && back <= pieces.entries.size() ? pieces.entries[pieces.entries.size() - back]
                                                      : locks::LockEntry{};
  };
  locks::EntryName name{};
  if (locks::command_of(entry).kind == locks::LockCommandKind::Acquire) {
    pieces.next = pieces.entries.empty() ? index : pieces.next;
    const bool adjacent = pieces.next == index;
    if ((!adjacent && locks::piece_count(entry.number()) != 0) ||
        !locks::gather_name(log, index, entry, name)) {
      return ToldKind::Nothing;
    }
  }
  encode_whole(entry, name, bytes);
  return ToldKind::Command;
}

}  // namespace gcoord::server
