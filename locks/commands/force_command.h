// The encoding of commands that nobody's session asks for: BreakLock and EndDelay.
//
// A part of encode() and decode() (lock_command.h), with their contract. Host only; thread-safe.
#pragma once

#include "common/status.h"
#include "locks/commands/command.h"

#include <cstddef>
#include <span>
#include <vector>

namespace gcoord::locks {

constexpr bool is_force_kind(LockCommandKind kind) {
  return kind == LockCommandKind::BreakLock || kind == LockCommandKind::EndDelay;
}

// Asserts what decode_force() would reject.
std::size_t encode_force(const LockCommand& command, std::vector<std::byte>& out);

// `bytes` is what follows the kind.
Result<LockCommand> decode_force(LockCommandKind kind, std::span<const std::byte> bytes);

}  // namespace gcoord::locks
