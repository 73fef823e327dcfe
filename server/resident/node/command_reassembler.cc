#include "server/resident/node/command_reassembler.h"

#include "common/name_hash.h"
#include "common/utf8.h"
#include "locks/commands/ends.h"
#include "locks/commands/move_command.h"

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
  if (locks::is_move_kind(command.kind)) {
    return locks::move_sound(command);
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

}  // namespace

CommandReassembler::Pieces& CommandReassembler::open(ShardId shard) {
  if (shard.value >= places_.size()) {
    places_.resize(std::size_t{shard.value} + 1);
  }
  std::uint32_t& place = places_[shard.value];
  if (place == 0 && free_.empty()) {
    pool_.emplace_back();
    place = static_cast<std::uint32_t>(pool_.size());
  } else if (place == 0) {
    place = free_.back();
    free_.pop_back();
  }
  return pool_[place - 1];
}

void CommandReassembler::forget(ShardId shard) {
  if (between(shard)) {
    const std::uint32_t place = std::exchange(places_[shard.value], 0);
    pool_[place - 1].entries.clear();
    free_.push_back(place);
  }
}

void CommandReassembler::put(ShardId shard, const Pieces& pieces) {
  forget(shard);
  if (!pieces.entries.empty()) {
    open(shard) = pieces;
  }
}

void CommandReassembler::take_piece(ShardId shard, LogIndex index, const locks::LockEntry& entry) {
  Pieces& pieces = open(shard);
  if (pieces.next != index) {
    pieces.entries.clear();
  }
  if (pieces.entries.size() == locks::kRecordPiecesMax) {
    pieces.entries.erase(pieces.entries.begin());  // Nothing reaches back so far.
  }
  pieces.entries.push_back(entry);
  pieces.next = index + 1;
}

ReassembledKind CommandReassembler::take(ShardId shard,
                                         LogIndex index,
                                         const locks::LockEntry& entry) {
  known_ = false;
  kind_ = ReassembledKind::Nothing;
  if (entry.kind() == locks::kEntryPiece) {
    take_piece(shard, index, entry);
    return kind_;
  }
  std::span<const locks::LockEntry> pieces;
  if (between(shard)) {
    const Pieces& before = pool_[places_[shard.value] - 1];
    pieces = before.next == index ? std::span{before.entries} : pieces;
  }
  kind_ = take_whole(pieces, index, entry);
  forget(shard);
  return kind_;
}

// `pieces` stand right before the entry.
ReassembledKind CommandReassembler::take_whole(std::span<const locks::LockEntry> pieces,
                                               LogIndex index,
                                               const locks::LockEntry& entry) {
  if (entry.kind() == 0 || entry.kind() == locks::kEntryConfiguration) {
    return ReassembledKind::Nothing;
  }
  if (entry.kind() == locks::kEntryBarrier) {
    return ReassembledKind::Barrier;
  }
  if (entry.kind() == locks::kEntryRecord) {
    auto record = locks::record_of(pieces, entry);
    record_ = record ? *std::move(record) : std::vector<std::byte>{};
    return record ? ReassembledKind::Record : ReassembledKind::Nothing;
  }
  const auto log = [pieces, index, &entry](LogIndex at) {
    const std::uint64_t back = index.value - at.value;
    return back == 0               ? entry
           : back <= pieces.size() ? pieces[pieces.size() - back]
                                   : locks::LockEntry{};
  };
  command_ = {};
  if (!locks::read_command(log, index, entry, gathered_, command_)) {
    return ReassembledKind::Nothing;
  }
  known_ = is_as_decoded(command_);
  return ReassembledKind::Command;
}

void CommandReassembler::append_to(std::vector<std::byte>& bytes) const {
  if (kind_ == ReassembledKind::Record) {
    bytes.insert(bytes.end(), record_.begin(), record_.end());
  } else if (kind_ != ReassembledKind::Command) {
    return;
  } else if (command_.kind == locks::LockCommandKind::Unknown || !has_sound_text(command_)) {
    bytes.push_back(std::byte{static_cast<std::uint8_t>(locks::LockCommandKind::Unknown)});
  } else {
    locks::encode(command_, bytes);
  }
}

}  // namespace gcoord::server
