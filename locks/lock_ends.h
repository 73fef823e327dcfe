// ExpireSessions: the command that ends many sessions of one shard, and its encoding.
//
//   ExpireSessions  kind 1, flags 1, and for each session: session 8, serial 4; sessions rise
//
// It is as many ExpireSession commands, one after another at one index of the log: each names the
// registration that it ends and leaves another one alone, each extends the shard's hash chain, and
// whoever looks on sees them one by one (apply_ends). What it saves is the log's share of an end:
// an entry, its messages, its leaf.
//
// Its work is bounded: by the length of the list, and by the room for events. A list goes no
// further when less room is left than one end may take; what is left was not ended, as every
// replica finds at the same place, and whoever proposed it does so again.
//
// Commands and what reads them are host and device; encoding and decoding are host only. The bytes
// of a list outlive its command, as a name does. Thread-safe.
#pragma once

#include "common/hd.h"
#include "common/ids.h"
#include "common/status.h"
#include "locks/lock_command.h"
#include "locks/lock_reply.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::locks {

// Sessions of one list. An entry of the log has room for 169; an end with one plain lock is some
// microseconds, and no other command should wait for more than half a millisecond of them.
inline constexpr std::uint32_t kEndsMax = 128;

inline constexpr std::uint32_t kEndBytes = 12;

// A registration that ends.
struct SessionEnd {
  SessionId session;
  std::uint32_t serial = 0;
};

// The bytes of a list, for make_expire_sessions(): 1 to kEndsMax ends, their sessions rising.
std::vector<char> encode_ends(std::span<const SessionEnd> ends);

LockCommand make_expire_sessions(std::span<const char> list);

// As encode() and decode() of lock_command.h; the bytes begin behind the kind.
std::size_t encode_expire_sessions(const LockCommand& command, std::vector<std::byte>& out);
Result<LockCommand> decode_expire_sessions(std::span<const std::byte> bytes);

GCOORD_HD constexpr std::uint32_t ends_count(const LockCommand& list) {
  return list.note_bytes / kEndBytes;
}

GCOORD_HD inline SessionEnd session_end(const LockCommand& list, std::uint32_t i) {
  const char* bytes = note_start(list) + std::size_t{i} * kEndBytes;
  return {SessionId{read_little<std::uint64_t>(bytes)}, read_little<std::uint32_t>(bytes + 8)};
}

// The command that ends the same session alone.
GCOORD_HD inline LockCommand end_alone(const LockCommand& list, std::uint32_t i) {
  const SessionEnd end = session_end(list, i);
  LockCommand command;
  command.kind = LockCommandKind::ExpireSession;
  command.session = end.session;
  command.serial = end.serial;
  return command;
}

// Applies the ends of a list, one after another, with one(command, i) -> LockReply, which writes to
// `events`. The reply says `more` when sessions or locks are left.
template <typename One>
GCOORD_HD LockReply apply_ends(const LockCommand& list, LockEvents& events, const One& one) {
  const std::uint32_t events_before = events.count;
  LockReply reply;
  reply.code = LockCode::SessionsEnded;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kEndsMax && i < ends_count(list); ++i) {
    if (events.count - events_before > kLockEventsPerCommandMax - kEndEventsMax) {
      reply.more = true;
      break;
    }
    events.part_first = events.count;
    const LockReply ended = one(end_alone(list, i), i);
    reply.more = reply.more || ended.more;
  }
  events.part_first = events_before;
  return reply;
}

// The same with any command, which is one part unless it is a list.
template <typename One>
LockReply apply_parts(const LockCommand& command, LockEvents& events, const One& one) {
  return command.kind == LockCommandKind::ExpireSessions ? apply_ends(command, events, one)
                                                         : one(command, 0);
}

}  // namespace gcoord::locks
