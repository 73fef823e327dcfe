// The commands that move the lock of a name between shards, and their encoding.
//
//   MoveOut   kind 1, flags 1, to 4, name
//   MoveIn    kind 1, flags 1, number 4, from 4, token 8, token_last 8, name bytes 2, name, and
//   then
//             session 8, ttl_ms 4 of the holder, if the token is not 0, and of those who wait, in
//             the order of the queue
//   MoveDone  kind 1, flags 1, number 4, name hash 16
//   MoveLapse kind 1, flags 1, session 8, sequence 8, name hash 16
//
// A part of encode() and decode() (lock_command.h), with their contract. No session numbers these
// commands: the number of a move makes each happen once (lock_move.h). The struct and what reads it
// are host and device; encoding is host only. Thread-safe.
#pragma once

#include "common/hd.h"
#include "common/status.h"
#include "locks/commands/command.h"
#include "locks/commands/hold.h"
#include "locks/commands/limits.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::locks {

GCOORD_HD constexpr bool is_move_kind(LockCommandKind kind) {
  return kind == LockCommandKind::MoveOut || kind == LockCommandKind::MoveIn ||
         kind == LockCommandKind::MoveDone || kind == LockCommandKind::MoveLapse;
}

// Bits of a MoveIn's flags. Never renumber. The waits that it brings lapse when nobody asks after
// them (lock_import.h). Only where all nodes know of it.
inline constexpr std::uint8_t kMoveInLapses = 1;

// A session that a lock brings along.
struct MovedSession {
  SessionId session;
  std::uint32_t ttl_ms = 0;
};

inline constexpr std::uint32_t kMovedSessionBytes = 12;

// Of a MoveIn: what stands before its name, and all of it: what one entry of the log has room for
// beside its record header (server/interfaces/log_limits.h).
inline constexpr std::uint32_t kMoveInHeadBytes = 28;
inline constexpr std::uint32_t kMoveCommandBytesMax = 2040;

// Whether a MoveIn has room for a name of so many bytes and a lock that so many wait for.
GCOORD_HD constexpr bool move_fits(std::uint32_t name_bytes, std::uint32_t waiter_count) {
  return waiter_count <= kMoveWaitersMax &&
         kMoveInHeadBytes + name_bytes + kMovedSessionBytes * (1 + waiter_count) <=
             kMoveCommandBytesMax;
}

static_assert(move_fits(1, kMoveWaitersMax));
static_assert(move_fits(kNameBytesMax, 0));

// Moves of one name are numbered from 1 to this; who has got there stays. Higher numbers come from
// no shard, and the one after the last does not fit the words that keep it.
inline constexpr std::uint32_t kMoveNumberMax = 0xffff'fffe;

// The newest token of a shard that a lock may come from. A shard grants far fewer, and above it
// there are as many again for those where it comes to.
inline constexpr std::uint64_t kMovedTokenMax = std::uint64_t{1} << 62;

// Of a MoveOut: where to. Of a MoveIn: where from.
GCOORD_HD constexpr ShardId move_shard(const LockCommand& command) {
  return ShardId{command.ttl_ms};
}

// Of a MoveIn and a MoveDone: which move of its name it is, from 1.
GCOORD_HD constexpr std::uint32_t move_number(const LockCommand& command) {
  return command.serial;
}

// Of a MoveIn: the newest token of the shard that the lock comes from.
GCOORD_HD constexpr std::uint64_t moved_token_last(const LockCommand& command) {
  return command.acked_below.value;
}

// Of a MoveIn: holder and waiters.
GCOORD_HD constexpr std::uint32_t moved_count(const LockCommand& command) {
  return command.note_bytes / kMovedSessionBytes;
}

GCOORD_HD inline MovedSession moved_session(const LockCommand& command, std::uint32_t i) {
  const char* bytes = note_start(command) + std::size_t{i} * kMovedSessionBytes;
  return {SessionId{read_little<std::uint64_t>(bytes)}, read_little<std::uint32_t>(bytes + 8)};
}

// The name satisfies check_name() and outlives the command.
LockCommand make_move_out(std::string_view name, ShardId to);

// `text` is the name and right behind it the sessions as encoded; it outlives the command.
struct MoveInFields {
  ShardId from;
  std::uint32_t number = 0;
  FencingToken token;  // 0: nobody holds the lock, and nobody waits.
  std::uint64_t token_last = 0;
  std::uint16_t name_bytes = 0;
  std::string_view text;
};

LockCommand make_move_in(const MoveInFields& fields);
LockCommand make_move_done(NameHash name_hash, std::uint32_t number);

// The place that came under this number is given up.
LockCommand make_move_lapse(SessionId session, RequestSequence imported, NameHash name_hash);

// Whether decode_move() would take it: what a node makes of state that it was given may not.
bool move_sound(const LockCommand& command);

// Asserts what decode_move() would reject.
std::size_t encode_move(const LockCommand& command, std::vector<std::byte>& out);

// `bytes` is what follows the kind.
Result<LockCommand> decode_move(LockCommandKind kind, std::span<const std::byte> bytes);

}  // namespace gcoord::locks
