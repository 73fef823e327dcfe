// BreakWait: the command that ends one wait of a deadlock, and its encoding.
//
// It names exactly that wait: the session, the sequence of its acquire, and the log index at which
// it was queued (as the command's token). A wait that has ended meanwhile, or another one under the
// same numbers, is left alone. The acquire answers LockCode::Deadlock, and so does its retry.
//
//   BreakWait  kind 1, flags 1, session 8, sequence 8, log index 8
//
// Encoding and decoding are host only and thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "locks/commands/command.h"

#include <cstddef>
#include <span>
#include <vector>

namespace gcoord::locks {

LockCommand make_break_wait(SessionId session, RequestSequence acquire, LogIndex enqueued_at);

// As encode() and decode() of lock_command.h; the bytes begin behind the kind.
std::size_t encode_break_wait(const LockCommand& command, std::vector<std::byte>& out);
Result<LockCommand> decode_break_wait(std::span<const std::byte> bytes);

// Whether fields mean a wait.
GCOORD_HD constexpr bool break_wait_sound(const LockCommand& command) {
  return command.flags == 0 && command.session.value != 0 && command.sequence.value != 0 &&
         command.token.value != 0;
}

}  // namespace gcoord::locks
