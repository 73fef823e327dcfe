#include "locks/commands/command.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/utf8.h"
#include "locks/commands/break_wait.h"
#include "locks/commands/ends.h"
#include "locks/commands/force_command.h"
#include "locks/commands/group_command.h"
#include "locks/commands/limits.h"
#include "locks/commands/move_command.h"

#include <string>

namespace gcoord::locks {
namespace {

Status bad(const char* what) {
  return Status{StatusCode::InvalidArgument, std::string{"lock command: "} + what};
}

constexpr std::uint8_t flags_known(LockCommandKind kind) {
  switch (kind) {
    case LockCommandKind::Acquire:
      return kAcquireWait | kAcquireRegister | kAcquireHold;
    case LockCommandKind::Release:
    case LockCommandKind::Proclaim:
    case LockCommandKind::Transfer:
      return kReleaseByToken;
    case LockCommandKind::CancelWait:
      return kCancelTimedOut;
    default:
      return 0;
  }
}

bool kind_known(LockCommandKind kind) {
  return (kind >= LockCommandKind::Acquire && kind <= LockCommandKind::CloseSession) ||
         changes_office(kind);
}

// Whether it says which hold of which lock it is about.
bool kind_has_token(LockCommandKind kind) {
  return kind == LockCommandKind::Release || changes_office(kind);
}

bool kind_acknowledges(LockCommandKind kind) {
  return kind == LockCommandKind::Acquire || kind_has_token(kind);
}

bool kind_has_sequence(LockCommandKind kind) {
  return kind_acknowledges(kind) || kind == LockCommandKind::CancelWait ||
         kind == LockCommandKind::CloseSession;
}

bool has_ask(const LockCommand& command) {
  return command.kind == LockCommandKind::Acquire && (command.flags & kAcquireHold) != 0;
}

// The plain ask without a note has its own encoding, so one command has one.
Status check_ask(const LockCommand& command) {
  const HoldOptions ask = hold_ask(command);
  if (!ask_sound(ask, command.note_bytes != 0) || (pack_ask(ask) == 0 && command.note_bytes == 0)) {
    return bad("impossible hold");
  }
  return command.note_bytes <= kNoteBytesMax ? Status{} : bad("note above 512 bytes");
}

bool has_ttl(const LockCommand& command) {
  return command.kind == LockCommandKind::RegisterSession ||
         (command.kind == LockCommandKind::Acquire && (command.flags & kAcquireRegister) != 0);
}

// What the fields of a known kind must satisfy, in the log and before they get there. The name's
// text is not looked at.
Status check_fields(const LockCommand& command) {
  if ((command.flags & ~flags_known(command.kind)) != 0) {
    return bad("unknown flag");
  }
  if (command.session.value == 0) {
    return bad("no session");
  }
  if (kind_has_sequence(command.kind) && command.sequence.value == 0) {
    return bad("sequence 0");
  }
  if (command.session == kKeeperSession) {
    return bad("a session that does not belong to a client");
  }
  if (is_imported(command.sequence)) {
    return bad("a sequence that does not belong to a client");
  }
  if (kind_acknowledges(command.kind)) {
    const bool in_order = command.acked_below.value > 0 && command.acked_below <= command.sequence;
    if (!in_order || command.sequence - command.acked_below > 0xffff'ffffu) {
      return bad("acked_below out of range");
    }
  }
  if (has_ttl(command) && (command.ttl_ms == 0 || command.ttl_ms > kTtlMsMax)) {
    return bad("TTL out of range");
  }
  if (command.kind == LockCommandKind::ExpireSession && command.serial == 0) {
    return bad("serial 0");
  }
  if (kind_has_token(command.kind) && command.token.value == 0) {
    return bad("token 0");
  }
  if (command.kind == LockCommandKind::Transfer && office_word(command) == 0) {
    return bad("no session for the hand-over");
  }
  return {};
}

void set_office_word(LockCommand& command, std::uint64_t word) {
  command.ttl_ms = static_cast<std::uint32_t>(word >> 32);
  command.serial = static_cast<std::uint32_t>(word);
}

void read_fields(ByteReader& reader, LockCommand& command) {
  command.flags = reader.integer<std::uint8_t>();
  const std::uint32_t acked = kind_acknowledges(command.kind) ? reader.integer<std::uint32_t>() : 0;
  command.session = SessionId{reader.integer<std::uint64_t>()};
  if (kind_has_sequence(command.kind)) {
    command.sequence = RequestSequence{reader.integer<std::uint64_t>()};
  }
  if (kind_acknowledges(command.kind)) {
    // A distance beyond the sequence wraps to a number above it, which check_fields refuses.
    command.acked_below = RequestSequence{command.sequence.value - acked};
  }
  if (has_ttl(command)) {
    command.ttl_ms = reader.integer<std::uint32_t>();
  }
  if (command.kind == LockCommandKind::ExpireSession) {
    command.serial = reader.integer<std::uint32_t>();
  }
  if (kind_has_token(command.kind)) {
    command.name_hash.low = reader.integer<std::uint64_t>();
    command.name_hash.high = reader.integer<std::uint64_t>();
    command.token = FencingToken{reader.integer<std::uint64_t>()};
  }
  if (command.kind == LockCommandKind::Transfer) {
    set_office_word(command, reader.integer<std::uint64_t>());
  }
}

// Tells notes apart; 0 for none.
FencingToken note_hash(std::string_view note) {
  return FencingToken{note.empty() ? 0 : hash_name(note).low};
}

// Before the name: how far it goes, and what is asked.
Status read_ask(ByteReader& reader, LockCommand& command) {
  const auto packed = reader.integer<std::uint64_t>();
  const HoldOptions ask = unpack_ask(packed);
  const auto name_bytes = reader.integer<std::uint16_t>();
  if (!reader.ok() || pack_ask(ask) != packed || name_bytes > reader.rest_bytes()) {
    return bad("impossible hold");
  }
  const std::size_t note_bytes = reader.rest_bytes() - name_bytes;
  if (note_bytes > kNoteBytesMax) {
    return bad("note above 512 bytes");
  }
  command.hold_flags = ask.flags;
  command.hold_permits = ask.permits;
  command.serial = ask.limit | std::uint32_t{ask.delay_ms} << 16;
  command.note_bytes = static_cast<std::uint16_t>(note_bytes);
  return check_ask(command);
}

Status read_name(ByteReader& reader, LockCommand& command) {
  if (has_ask(command)) {
    GCOORD_TRY_STATUS(read_ask(reader, command));
  }
  const std::string_view name = reader.bytes(reader.rest_bytes() - command.note_bytes);
  const Status status = check_name(name);
  if (!status.ok()) {
    return status;
  }
  command.name = name.data();
  command.name_bytes = static_cast<std::uint16_t>(name.size());
  command.name_hash = hash_name(name);
  command.token = note_hash(reader.bytes(command.note_bytes));
  return {};
}

// The rest of a proclamation.
void set_note(LockCommand& command, std::string_view note) {
  command.name = note.data();
  command.note_bytes = static_cast<std::uint16_t>(note.size());
  set_office_word(command, note_hash(note).value);
}

Status read_proclaimed(ByteReader& reader, LockCommand& command) {
  if (reader.rest_bytes() > kNoteBytesMax) {
    return bad("note above 512 bytes");
  }
  set_note(command, reader.bytes(reader.rest_bytes()));
  return {};
}

// What follows the TTL of an acquire.
void write_name(ByteWriter& writer, const LockCommand& command) {
  GCOORD_ASSERT(command.name_bytes > 0);
  GCOORD_ASSERT(command.name_bytes <= kNameBytesMax);
  if (has_ask(command)) {
    writer.integer(pack_ask(hold_ask(command)));
    writer.integer(command.name_bytes);
  }
  writer.bytes(command.name, std::size_t{command.name_bytes} + command.note_bytes);
}

}  // namespace

LockCommand make_acquire(const AcquireFields& fields) {
  LockCommand command;
  command.kind = LockCommandKind::Acquire;
  command.flags = static_cast<std::uint8_t>((fields.wait ? kAcquireWait : 0) |
                                            (fields.ttl_ms != 0 ? kAcquireRegister : 0));
  command.ttl_ms = fields.ttl_ms;
  command.session = fields.session;
  command.sequence = fields.sequence;
  command.acked_below = fields.acked_below;
  command.name = fields.name.data();
  command.name_bytes = static_cast<std::uint16_t>(fields.name.size());
  command.name_hash = hash_name(fields.name);
  return command;
}

LockCommand make_acquire_hold(const HoldFields& fields) {
  GCOORD_ASSERT(fields.acquire.name.data() == fields.text.data());
  LockCommand command = make_acquire(fields.acquire);
  const std::string_view note = fields.text.substr(command.name_bytes);
  command.flags = static_cast<std::uint8_t>(command.flags | kAcquireHold);
  command.hold_flags = fields.ask.flags;
  command.hold_permits = fields.ask.permits;
  command.serial = fields.ask.limit | std::uint32_t{fields.ask.delay_ms} << 16;
  command.note_bytes = static_cast<std::uint16_t>(note.size());
  command.token = note_hash(note);
  return command;
}

LockCommand make_release(const ReleaseFields& fields) {
  LockCommand command;
  command.kind = LockCommandKind::Release;
  command.flags = fields.by_token ? kReleaseByToken : std::uint8_t{0};
  command.session = fields.session;
  command.sequence = fields.by_token ? RequestSequence{1} : fields.sequence;
  command.acked_below = fields.by_token ? RequestSequence{1} : fields.acked_below;
  command.name_hash = fields.name_hash;
  command.token = fields.token;
  return command;
}

LockCommand make_proclaim(const ReleaseFields& holder, std::string_view note) {
  GCOORD_ASSERT(note.size() <= kNoteBytesMax);
  LockCommand command = make_release(holder);
  command.kind = LockCommandKind::Proclaim;
  set_note(command, note);
  return command;
}

LockCommand make_transfer(const ReleaseFields& holder, SessionId target) {
  LockCommand command = make_release(holder);
  command.kind = LockCommandKind::Transfer;
  set_office_word(command, target.value);
  return command;
}

LockCommand make_cancel_wait(SessionId session, RequestSequence acquire, bool timed_out) {
  LockCommand command;
  command.kind = LockCommandKind::CancelWait;
  command.flags = timed_out ? kCancelTimedOut : std::uint8_t{0};
  command.session = session;
  command.sequence = acquire;
  return command;
}

LockCommand make_register_session(SessionId session, std::uint32_t ttl_ms) {
  LockCommand command;
  command.kind = LockCommandKind::RegisterSession;
  command.session = session;
  command.ttl_ms = ttl_ms;
  return command;
}

LockCommand make_expire_session(SessionId session, std::uint32_t serial) {
  LockCommand command;
  command.kind = LockCommandKind::ExpireSession;
  command.session = session;
  command.serial = serial;
  return command;
}

LockCommand make_close_session(SessionId session, RequestSequence sequence) {
  LockCommand command;
  command.kind = LockCommandKind::CloseSession;
  command.session = session;
  command.sequence = sequence;
  return command;
}

std::size_t encode(const LockCommand& command, std::vector<std::byte>& out) {
  if (command.kind == LockCommandKind::Noop) {
    return 0;
  }
  if (is_force_kind(command.kind)) {
    return encode_force(command, out);
  }
  if (command.kind == LockCommandKind::BreakWait) {
    return encode_break_wait(command, out);
  }
  if (is_move_kind(command.kind)) {
    return encode_move(command, out);
  }
  if (command.kind == LockCommandKind::ExpireSessions) {
    return encode_expire_sessions(command, out);
  }
  if (is_group_kind(command.kind)) {
    return encode_group(command, out);
  }
  GCOORD_ASSERT(kind_known(command.kind));
  GCOORD_ASSERT(check_fields(command).ok());
  GCOORD_ASSERT(!has_ask(command) || check_ask(command).ok());
  const std::size_t start = out.size();
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(command.kind));
  writer.integer(command.flags);
  if (kind_acknowledges(command.kind)) {
    writer.integer(static_cast<std::uint32_t>(command.sequence - command.acked_below));
  }
  writer.integer(command.session.value);
  if (kind_has_sequence(command.kind)) {
    writer.integer(command.sequence.value);
  }
  if (has_ttl(command)) {
    writer.integer(command.ttl_ms);
  }
  if (command.kind == LockCommandKind::ExpireSession) {
    writer.integer(command.serial);
  }
  if (kind_has_token(command.kind)) {
    writer.integer(command.name_hash.low);
    writer.integer(command.name_hash.high);
    writer.integer(command.token.value);
  }
  if (command.kind == LockCommandKind::Transfer) {
    writer.integer(office_word(command));
  }
  if (command.kind == LockCommandKind::Proclaim) {
    GCOORD_ASSERT(command.note_bytes <= kNoteBytesMax);
    writer.bytes(command.name, command.note_bytes);
  }
  if (command.kind == LockCommandKind::Acquire) {
    write_name(writer, command);
  }
  return out.size() - start;
}

Result<LockCommand> decode(std::span<const std::byte> bytes) {
  LockCommand command;
  if (bytes.empty()) {
    return command;
  }
  ByteReader reader{bytes};
  command.kind = static_cast<LockCommandKind>(reader.integer<std::uint8_t>());
  if (is_force_kind(command.kind)) {
    return decode_force(command.kind, bytes.subspan(1));
  }
  if (command.kind == LockCommandKind::BreakWait) {
    return decode_break_wait(bytes.subspan(1));
  }
  if (is_move_kind(command.kind)) {
    return decode_move(command.kind, bytes.subspan(1));
  }
  if (command.kind == LockCommandKind::ExpireSessions) {
    return decode_expire_sessions(bytes.subspan(1));
  }
  if (is_group_kind(command.kind)) {
    return decode_group(command.kind, bytes.subspan(1));
  }
  if (!kind_known(command.kind)) {
    return Status{StatusCode::Unimplemented, "lock command: unknown kind"};
  }
  read_fields(reader, command);
  if (!reader.ok()) {
    return bad("truncated");
  }
  Status status = check_fields(command);
  if (status.ok() && command.kind == LockCommandKind::Acquire) {
    status = read_name(reader, command);
  }
  if (status.ok() && command.kind == LockCommandKind::Proclaim) {
    status = read_proclaimed(reader, command);
  }
  if (!status.ok()) {
    return status;
  }
  if (reader.rest_bytes() != 0) {
    return bad("trailing bytes");
  }
  return command;
}

Status check_name(std::string_view name) {
  if (name.empty()) {
    return bad("empty name");
  }
  if (name.size() > kNameBytesMax) {
    return bad("name above 1,024 bytes");
  }
  if (!utf8_well_formed(name)) {
    return bad("name is not UTF-8");
  }
  return {};
}

}  // namespace gcoord::locks
