// The commands of the lock service as they stand in the log, and their encoding.
//
// All integers are little-endian, without padding; a name is the rest of the bytes. `acked` is
// sequence - acked_below. An empty payload is a no-op (Raft's own entries).
//
//   Acquire          kind 1, flags 1, acked 4, session 8, sequence 8, [ttl_ms 4 if kRegister], name
//                    (with kAcquireHold, after the TTL: ask 8 as lock_hold.h packs it, name bytes
//                    2; and after the name the note)
//   Release          kind 1, flags 1, acked 4, session 8, sequence 8, name hash 16, token 8
//                    (by token: acked 0 and sequence 1 stand for nothing)
//   CancelWait       kind 1, flags 1, session 8, sequence 8
//   RegisterSession  kind 1, flags 1, session 8, ttl_ms 4
//   ExpireSession    kind 1, flags 1, session 8, serial 4
//   CloseSession     kind 1, flags 1, session 8, sequence 8
//   BreakLock        kind 1, flags 1, token 8, name bytes 2, bytes of who 1, name, who, reason
//   EndDelay         kind 1, flags 1, name hash 16, token 8
//   BreakWait        see lock_break_wait.h
//   MoveOut, MoveIn, MoveDone, MoveLapse  see lock_move_command.h
//   ExpireSessions   see lock_ends.h
//   GroupRequest, GroupWithdraw  see group_command.h
//   Proclaim         as a release, and after the token the note
//   Transfer         as a release, and after the token the session that is to hold the lock 8
//
// An acquire of a name of up to 28 bytes and a release (46 bytes) stay within 54 bytes, so that
// their Merkle leaf is one SHA-256 compression. The hash of a name is not stored beside the name:
// one truth, and it costs the reader the compression that it saves in the leaf.
//
// The struct and the constants are host and device; encoding and decoding are host only and
// thread-safe.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"
#include "common/status.h"
#include "locks/commands/hold.h"
#include "locks/commands/limits.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::locks {

// Never renumber: the kinds are in the log.
enum class LockCommandKind : std::uint8_t {
  Noop = 0,
  Acquire = 1,
  Release = 2,
  CancelWait = 3,
  RegisterSession = 4,
  ExpireSession = 5,
  CloseSession = 6,
  BreakLock = 7,   // Ends holds of a lock, whoever has them.
  EndDelay = 8,    // The delay of a lock whose holder failed is over.
  BreakWait = 13,  // See lock_break_wait.h.
  MoveOut = 14,    // These three: see lock_move_command.h.
  MoveIn = 15,
  MoveDone = 16,
  ExpireSessions = 17,  // Ends many sessions; see lock_ends.h.
  GroupRequest = 20,    // These two: see group_command.h.
  GroupWithdraw = 21,
  Unknown = 255,   // Never encoded: what a driver applies for an entry that does not decode.
  Proclaim = 9,    // The holder changes its note.
  Transfer = 10,   // The holder hands the lock over to one of those who wait for it.
  MoveLapse = 18,  // A place that came with a moved lock; see lock_move_command.h.
};

// Bits of LockCommand::flags. Never renumber.
inline constexpr std::uint8_t kAcquireWait = 1;      // Queue when the lock is held.
inline constexpr std::uint8_t kAcquireRegister = 2;  // Register the session here if it is not yet.
inline constexpr std::uint8_t kAcquireHold = 4;      // It asks for more than the plain hold.
inline constexpr std::uint8_t kCancelTimedOut =
    1;  // The wait's time ran out; else it was given up.
// The token alone makes it happen once, since no token is granted twice: the session's window of
// requests is left alone, for its owner numbers it and does not know of this release. Of a Proclaim
// and a Transfer too: a note said twice is the same, and a lock is handed over once.
inline constexpr std::uint8_t kReleaseByToken = 1;
// All holds whose tokens are not above the command's, else the one under it. Either way it happens
// once, since no token is granted twice.
inline constexpr std::uint8_t kBreakAll = 1;
// The author of a BreakLock is a principal that the node has proven, and not the client's word.
// Only where all nodes have protocol::Feature::Audit, and in the log of a device DeviceLedger:
// earlier releases know no such flag.
inline constexpr std::uint8_t kBreakProven = 2;

// Bytes of who breaks a hold: a principal, "ann@build-7". The reason is as long as a note may be.
inline constexpr std::uint8_t kBreakWhoBytesMax = 128;

// One decoded command. Which fields mean something depends on the kind; the rest are zero.
struct LockCommand {
  LockCommandKind kind = LockCommandKind::Noop;
  std::uint8_t flags = 0;
  std::uint16_t name_bytes = 0;
  std::uint32_t ttl_ms = 0;
  // Of ExpireSession; of an acquire with kAcquireHold its ask's limit and, 16 bits above it, delay;
  // of BreakLock the bytes of who.
  std::uint32_t serial = 0;
  // Of an acquire with kAcquireHold: see hold_ask(), and the bytes of the note, which stand right
  // behind the name's. Its token is the note's hash, so that whoever tells commands apart sees it.
  std::uint8_t hold_flags = 0;
  std::uint8_t hold_permits = 0;
  // Of BreakLock: who and, behind that, why; of MoveIn: holder and waiters. sequence is their hash.
  // Of ExpireSessions: the list.
  std::uint16_t note_bytes = 0;
  SessionId session;
  RequestSequence sequence;
  // Every sequence below it has been answered and its reply may be forgotten; 1 <= it <= sequence.
  RequestSequence acked_below;
  FencingToken token;
  NameHash name_hash;
  const char* name = nullptr;  // name_bytes of UTF-8 that live as long as the caller's payload.
};

static_assert(sizeof(LockCommand) == 72);

// Makes an acquire; name must satisfy check_name(). ttl_ms == 0 means "do not register".
struct AcquireFields {
  SessionId session;
  RequestSequence sequence;
  RequestSequence acked_below{1};
  std::string_view name;
  bool wait = false;
  std::uint32_t ttl_ms = 0;
};

LockCommand make_acquire(const AcquireFields& fields);

// Makes an acquire that asks for more: a sound ask, a note of up to kNoteBytesMax bytes, or both.
// `text` is the name and right behind it the note; it outlives the command, as a name does.
struct HoldFields {
  AcquireFields acquire;  // Its name is the beginning of `text`.
  HoldOptions ask;
  std::string_view text;
};

LockCommand make_acquire_hold(const HoldFields& fields);

// What an acquire asks for; of any other command and of a plain one, the plain ask.
GCOORD_HD constexpr HoldOptions hold_ask(const LockCommand& command) {
  const bool asks = command.kind == LockCommandKind::Acquire;
  return {.flags = command.hold_flags,
          .permits = command.hold_permits,
          .limit = static_cast<std::uint16_t>(asks ? command.serial : 0),
          .delay_ms = static_cast<std::uint16_t>(asks ? command.serial >> 16 : 0)};
}

// Whether it is an acquire that is not plain.
GCOORD_HD constexpr bool command_asks(const LockCommand& command) {
  return command.kind == LockCommandKind::Acquire && (command.flags & kAcquireHold) != 0;
}

GCOORD_HD constexpr const char* note_start(const LockCommand& command) {
  return command.name + command.name_bytes;
}

// A little-endian integer at `bytes`, wherever that lies.
template <typename T>
GCOORD_HD constexpr T read_little(const char* bytes) {
  T value{0};
  for (std::uint32_t k = 0; k < sizeof(T); ++k) {
    value |= T{static_cast<unsigned char>(bytes[k])} << (8 * k);
  }
  return value;
}

struct ReleaseFields {
  SessionId session;
  RequestSequence sequence;
  RequestSequence acked_below{1};
  NameHash name_hash;
  FencingToken token;
  bool by_token = false;  // Then sequence and acked_below are not used.
};

LockCommand make_release(const ReleaseFields& fields);

// The holder's note becomes this one, of up to kNoteBytesMax bytes that outlive the command.
LockCommand make_proclaim(const ReleaseFields& holder, std::string_view note);

// The session that waits for the lock becomes its holder.
LockCommand make_transfer(const ReleaseFields& holder, SessionId target);

// Whether the command is one by which a holder changes what it holds without letting go of it.
GCOORD_HD constexpr bool changes_office(LockCommandKind kind) {
  return kind == LockCommandKind::Proclaim || kind == LockCommandKind::Transfer;
}

// What such a command says beside the words of a release: of a Transfer the session that it names,
// of a Proclaim its note's hash. They stand in the words of a TTL and a serial, which it has not.
GCOORD_HD constexpr std::uint64_t office_word(const LockCommand& command) {
  return changes_office(command.kind) ? std::uint64_t{command.ttl_ms} << 32 | command.serial : 0;
}

LockCommand make_cancel_wait(SessionId session, RequestSequence acquire, bool timed_out);
LockCommand make_register_session(SessionId session, std::uint32_t ttl_ms);
LockCommand make_expire_session(SessionId session, std::uint32_t serial);
LockCommand make_close_session(SessionId session, RequestSequence sequence);

// Ends holds by force. `text` is the name, who breaks it (1 to kBreakWhoBytesMax bytes) and why (1
// to kNoteBytesMax), one behind the other in UTF-8; it outlives the command, as a name does.
struct BreakFields {
  FencingToken token;
  bool all = false;     // kBreakAll.
  bool proven = false;  // kBreakProven.
  std::uint16_t name_bytes = 0;
  std::uint8_t who_bytes = 0;
  std::string_view text;
};

LockCommand make_break_lock(const BreakFields& fields);
LockCommand make_end_delay(NameHash name_hash, FencingToken token);

// Of a BreakLock.
std::string_view break_who(const LockCommand& command);
std::string_view break_reason(const LockCommand& command);

// Appends the encoding of a valid command to `out`; returns the bytes appended. Asserts what
// decode() would reject.
std::size_t encode(const LockCommand& command, std::vector<std::byte>& out);

// The command in `bytes`, with its name hash computed; the name points into `bytes`. Refuses an
// unknown kind (Unimplemented), and with InvalidArgument a length, flag or number out of range and
// a bad name. Never reads past the bytes.
Result<LockCommand> decode(std::span<const std::byte> bytes);

// Ok for 1 to kNameBytesMax bytes of well-formed UTF-8.
Status check_name(std::string_view name);

}  // namespace gcoord::locks
