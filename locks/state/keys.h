// Hashes of a command: what of it does not depend on the commands before, and the rows that it
// names. Pure functions; host and device.
#pragma once

#include "common/hd.h"
#include "common/ids.h"
#include "common/random.h"
#include "locks/commands/command.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

struct LockKeys {
  std::uint32_t lock_hash = 0;
  std::uint32_t session_hash = 0;
  std::uint32_t argument_hash = 0;
  std::uint64_t digest = 0;  // Of all that the command says; see digest_word().
};

// Whether the command is a numbered request about one lock.
GCOORD_HD constexpr bool concerns_lock(LockCommandKind kind) {
  return kind == LockCommandKind::Acquire || kind == LockCommandKind::Release ||
         changes_office(kind);
}

// What of an acquire's ask and note its other words do not say; 0 when it is plain.
GCOORD_HD constexpr std::uint64_t hold_word(const LockCommand& command) {
  return std::uint64_t{command.hold_flags} << 16 | std::uint64_t{command.hold_permits} << 24 |
         std::uint64_t{command.note_bytes} << 32;
}

// Tells a retry from another request under the same sequence.
GCOORD_HD inline std::uint32_t argument_hash(const LockCommand& command) {
  const auto kind = static_cast<std::uint64_t>(command.kind);
  const std::uint64_t wait = command.flags & kAcquireWait;
  const std::uint64_t head = mix64(kind << 8 | wait | hold_word(command)) ^ command.token.value ^
                             std::uint64_t{command.serial} << 32 ^ office_word(command) >> 32;
  return static_cast<std::uint32_t>(
      mix64(mix64(head) ^ command.name_hash.low ^ mix64(command.name_hash.high)));
}

// The share of the word at one place in a sum over a fixed number of words. A bijection of the
// word, so a change of one word always shows; the words of a sum do not wait for each other.
template <std::uint32_t place>
GCOORD_HD constexpr std::uint64_t digest_word(std::uint64_t word) {
  constexpr std::uint64_t kOdd = mix64(place) | 1;
  const std::uint64_t x = (word ^ mix64(~std::uint64_t{place})) * kOdd;
  return x ^ (x >> 29);
}

// Places 0 to 6; replies and state have the places after them (lock_apply.h).
GCOORD_HD inline std::uint64_t command_digest(LogIndex index, const LockCommand& command) {
  return digest_word<0>(index.value) +
         digest_word<1>(static_cast<std::uint64_t>(command.kind) << 8 | command.flags |
                        hold_word(command)) +
         digest_word<2>(command.session.value) + digest_word<3>(command.sequence.value) +
         digest_word<4>(command.acked_below.value) +
         digest_word<5>(command.name_hash.low ^ command.token.value) +
         digest_word<6>(std::uint64_t{command.ttl_ms} << 32 | command.serial);
}

GCOORD_HD inline LockKeys make_keys(const LockTables& tables,
                                    ShardId shard,
                                    LogIndex index,
                                    const LockCommand& command) {
  LockKeys keys;
  keys.session_hash = tables.session_hash(shard, command.session);
  keys.digest = command_digest(index, command);
  if (concerns_lock(command.kind)) {
    keys.lock_hash = tables.lock_hash(shard, command.name_hash);
    keys.argument_hash = argument_hash(command);
  } else if (command.kind == LockCommandKind::GroupRequest) {
    keys.argument_hash = argument_hash(command);
  }
  return keys;
}

// The lock that the command names, or none.
GCOORD_HD inline LockRow find_lock(const LockTables& tables,
                                   ShardId shard,
                                   NameHash name,
                                   const LockKeys& keys) {
  return LockRow{tables.lock_index.find(keys.lock_hash, SameLock{&tables, shard, name})};
}

// The registration of the command's session, or none.
GCOORD_HD inline SessionRow find_session(const LockTables& tables,
                                         ShardId shard,
                                         SessionId session,
                                         const LockKeys& keys) {
  return SessionRow{
      tables.session_index.find(keys.session_hash, SameSession{&tables, shard, session})};
}

}  // namespace gcoord::locks
