#include "server/resident/node/command_reassembler.h"

#include "common/name_hash.h"
#include "common/utf8.h"
#include "locks/commands/ends.h"

#include <string_view>
#include <utility>

namespace gcoord::server {
namespace {

// What a host that made the entries has looked at already, and encode() insists on.
bool has_sound_text(const locks::LockCommand& command) {
  if (command.kind == locks::LockCommandKind::ExpireSessions) {
    return sessions::check_ends(locks::ends_of(command)).ok();
  }
  if (locks::is_group_kind(command.kind)) {
    return locks::check_name({command.name, command.name_bytes}).ok();
  }
  return command.kind != locks::LockCommandKind::BreakLock ||
         (utf8_well_formed(locks::break_who(command)) &&
          utf8_well_formed(locks::break_reason(command)) &&
          locks::check_name({command.name, command.name_bytes}).ok());
}

// Whether decoding the command's encoding gives the same in every field. Of an acquire, decode()
// computes the name's hash and looks at its text: one that a device has wrong must not pass here.
// Of those with other texts it computes more, and they are rare: the service decodes them.
bool is_as_decoded(const locks::LockCommand& command) {
  switch (command.kind) {
    case locks::LockCommandKind::Release:
    case locks::LockCommandKind::CancelWait:
    case locks::LockCommandKind::RegisterSession:
    case locks::LockCommandKind::ExpireSession:
    case locks::LockCommandKind::CloseSession:
      return true;
    case locks::LockCommandKind::Acquire: {
      const std::string_view name(command.name, command.name_bytes);
      return !locks::command_asks(command) && locks::check_name(name).ok() &&
             hash_name(name) == command.name_hash;
    }
    default:
      return false;
  }
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

ReassembledKind CommandReassembler::take(ShardId shard,
                                         LogIndex index,
                                         const locks::LockEntry& entry,
                                         std::vector<std::byte>& bytes) {
  known_ = false;
  if (entry.kind() == locks::kEntryPiece) {
    Pieces& pieces = pieces_[shard.value];
    if (pieces.next != index) {
      pieces.entries.clear();
    }
    if (pieces.entries.size() == locks::kRecordPiecesMax) {
      pieces.entries.erase(pieces.entries.begin());  // Nothing reaches back so far.
    }
    pieces.entries.push_back(entry);
    pieces.next = index + 1;
    return ReassembledKind::Nothing;
  }
  Pieces pieces;
  if (const auto found = pieces_.find(shard.value); found != pieces_.end()) {
    pieces = std::move(found->second);
    pieces_.erase(found);
  }
  if (entry.kind() == 0 || entry.kind() == locks::kEntryConfiguration) {
    return ReassembledKind::Nothing;
  }
  if (entry.kind() == locks::kEntryBarrier) {
    return ReassembledKind::Barrier;
  }
  if (pieces.next != index) {
    pieces = {.next = index, .entries = {}};
  }
  if (entry.kind() == locks::kEntryRecord) {
    auto record = locks::record_of(pieces.entries, entry);
    bytes = record ? *std::move(record) : std::move(bytes);
    return record ? ReassembledKind::Record : ReassembledKind::Nothing;
  }
  const auto log = [&pieces, &entry](LogIndex at) {
    const std::uint64_t back = pieces.next.value - at.value;
    return back == 0                       ? entry
           : back <= pieces.entries.size() ? pieces.entries[pieces.entries.size() - back]
                                           : locks::LockEntry{};
  };
  command_ = {};
  gathered_ = {};
  if (!locks::read_command(log, index, entry, gathered_, command_)) {
    return ReassembledKind::Nothing;
  }
  encode_whole(command_, bytes);
  known_ = is_as_decoded(command_);
  return ReassembledKind::Command;
}

}  // namespace gcoord::server
