#include "server/told_commands.h"

#include "common/utf8.h"

#include <utility>

namespace gcoord::server {
namespace {

// What a host that made the entries has looked at already, and encode() insists on.
bool has_sound_text(const locks::LockCommand& command) {
  return command.kind != locks::LockCommandKind::BreakLock ||
         (utf8_well_formed(locks::break_who(command)) &&
          utf8_well_formed(locks::break_reason(command)) &&
          locks::check_name({command.name, command.name_bytes}).ok());
}

void encode_whole(const locks::LockCommand& command, std::vector<std::byte>& bytes) {
  bytes.clear();
  if (command.kind == locks::LockCommandKind::Unknown || !has_sound_text(command)) {
    bytes.push_back(std::byte{static_cast<std::uint8_t>(locks::LockCommandKind::Unknown)});
    return;
  }
  locks::encode(command, bytes);
}

}  // namespace

ToldKind ToldCommands::take(ShardId shard,
                            LogIndex index,
                            const locks::LockEntry& entry,
                            std::vector<std::byte>& bytes) {
  if (entry.kind() == locks::kEntryPiece) {
    Pieces& pieces = pieces_[shard.value];
    if (pieces.next != index) {
      pieces.entries.clear();
    }
    if (pieces.entries.size() == locks::kPiecesMax) {
      pieces.entries.erase(pieces.entries.begin());  // No command reaches back so far.
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
  if (pieces.next != index) {
    pieces = {.next = index, .entries = {}};
  }
  const auto log = [&pieces, &entry](LogIndex at) {
    const std::uint64_t back = pieces.next.value - at.value;
    return back == 0                       ? entry
           : back <= pieces.entries.size() ? pieces.entries[pieces.entries.size() - back]
                                           : locks::LockEntry{};
  };
  locks::LockCommand command;
  locks::EntryName gathered{};
  if (!locks::read_command(log, index, entry, gathered, command)) {
    return ToldKind::Nothing;
  }
  encode_whole(command, bytes);
  return ToldKind::Command;
}

}  // namespace gcoord::server
