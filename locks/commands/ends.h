// ExpireSessions: the command that ends many sessions of one shard, and its encoding.
//
//   ExpireSessions  kind 1, flags 1, and the list of sessions/session_end.h
//
// It is as many ExpireSession commands, one after another at one index of the log: each names the
// registration that it ends and leaves another one alone, each extends the shard's hash chain, and
// whoever looks on sees them one by one (apply_ends). What it saves is the log's share of an end:
// an entry, its messages, its leaf.
//
// Commands and what reads them are host and device; encoding and decoding are host only. The bytes
// of a list outlive its command, as a name does. Thread-safe.
#pragma once

#include "common/hd.h"
#include "common/ids.h"
#include "common/status.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "sessions/session_end.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::locks {

using sessions::encode_ends;
using sessions::kEndBytes;
using sessions::kEndsMax;
using sessions::SessionEnd;

// Of a list that encode_ends() made: 1 to kEndsMax ends, their sessions rising.
LockCommand make_expire_sessions(std::span<const char> list);

// As encode() and decode() of lock_command.h; the bytes begin behind the kind.
std::size_t encode_expire_sessions(const LockCommand& command, std::vector<std::byte>& out);
Result<LockCommand> decode_expire_sessions(std::span<const std::byte> bytes);

GCOORD_HD inline sessions::SessionEnds ends_of(const LockCommand& list) {
  return {note_start(list), list.note_bytes};
}

GCOORD_HD inline std::uint32_t ends_count(const LockCommand& list) {
  return ends_of(list).count();
}

GCOORD_HD inline SessionEnd session_end(const LockCommand& list, std::uint32_t i) {
  return ends_of(list)[i];
}

// The command that ends the same session alone.
GCOORD_HD inline LockCommand end_alone(const SessionEnd& end) {
  LockCommand command;
  command.kind = LockCommandKind::ExpireSession;
  command.session = end.session;
  command.serial = end.serial;
  return command;
}

// The end that a command decides which ends one session.
GCOORD_HD inline SessionEnd end_of(const LockCommand& command) {
  const bool expires = command.kind == LockCommandKind::ExpireSession;
  return {command.session,
          command.serial,
          expires ? sessions::EndCause::Expired : sessions::EndCause::Closed};
}

// Applies the ends of a list, one after another, with one(command, i) -> LockReply, which writes to
// `events`. The reply says `more` when sessions or locks are left.
template <typename One>
GCOORD_HD LockReply apply_ends(const LockCommand& list, LockEvents& events, const One& one) {
  const std::uint32_t events_before = events.count;
  const auto has_room = [&] {
    return events.count - events_before <= kLockEventsPerCommandMax - kEndEventsMax;
  };
  LockReply reply;
  reply.code = LockCode::SessionsEnded;
  reply.more = sessions::apply_each_end(
      ends_of(list), has_room, [&](const SessionEnd& end, std::uint32_t i) {
        events.part_first = events.count;
        return one(end_alone(end), i).more;
      });
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
