#include "locks/commands/force_command.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/utf8.h"

#include <string>

namespace gcoord::locks {
namespace {

Status bad(const char* what) {
  return Status{StatusCode::InvalidArgument, std::string{"lock command: "} + what};
}

// What a BreakLock must satisfy, in the log and before it gets there.
Status check_break(const LockCommand& command) {
  if ((command.flags & ~(kBreakAll | kBreakProven)) != 0) {
    return bad("unknown flag");
  }
  if (command.token.value == 0) {
    return bad("token 0");
  }
  const std::uint32_t who_bytes = command.serial;
  if (who_bytes == 0 || who_bytes > kBreakWhoBytesMax || who_bytes >= command.note_bytes ||
      command.note_bytes - who_bytes > kNoteBytesMax) {
    return bad("the author or the reason of a break is missing or too long");
  }
  const bool text = utf8_well_formed(break_who(command)) && utf8_well_formed(break_reason(command));
  return text ? check_name({command.name, command.name_bytes}) : bad("not UTF-8");
}

RequestSequence text_hash(std::string_view text) {
  return RequestSequence{hash_name(text).low};
}

Result<LockCommand> decode_break(ByteReader& reader) {
  LockCommand command;
  command.kind = LockCommandKind::BreakLock;
  command.flags = reader.integer<std::uint8_t>();
  command.token = FencingToken{reader.integer<std::uint64_t>()};
  const auto name_bytes = reader.integer<std::uint16_t>();
  command.serial = reader.integer<std::uint8_t>();
  if (!reader.ok() || name_bytes > reader.rest_bytes() ||
      reader.rest_bytes() - name_bytes > std::size_t{kBreakWhoBytesMax} + kNoteBytesMax) {
    return bad("impossible break");
  }
  const std::string_view text = reader.bytes(reader.rest_bytes());
  command.name = text.data();
  command.name_bytes = name_bytes;
  command.note_bytes = static_cast<std::uint16_t>(text.size() - name_bytes);
  GCOORD_TRY_STATUS(check_break(command));
  command.name_hash = hash_name(text.substr(0, name_bytes));
  command.sequence = text_hash(text.substr(name_bytes));
  return command;
}

Result<LockCommand> decode_end_delay(ByteReader& reader) {
  const auto flags = reader.integer<std::uint8_t>();
  NameHash hash;
  hash.low = reader.integer<std::uint64_t>();
  hash.high = reader.integer<std::uint64_t>();
  const FencingToken token{reader.integer<std::uint64_t>()};
  if (!reader.ok() || reader.rest_bytes() != 0) {
    return bad("truncated, or trailing bytes");
  }
  if (flags != 0 || token.value == 0) {
    return bad("unknown flag, or token 0");
  }
  return make_end_delay(hash, token);
}

}  // namespace

std::string_view break_who(const LockCommand& command) {
  GCOORD_ASSERT(command.kind == LockCommandKind::BreakLock);
  return {note_start(command), command.serial};
}

std::string_view break_reason(const LockCommand& command) {
  GCOORD_ASSERT(command.kind == LockCommandKind::BreakLock);
  return {note_start(command) + command.serial, command.note_bytes - command.serial};
}

LockCommand make_break_lock(const BreakFields& fields) {
  GCOORD_ASSERT(fields.name_bytes <= fields.text.size());
  const std::string_view note = fields.text.substr(fields.name_bytes);
  LockCommand command;
  command.kind = LockCommandKind::BreakLock;
  command.flags =
      static_cast<std::uint8_t>((fields.all ? kBreakAll : 0) | (fields.proven ? kBreakProven : 0));
  command.token = fields.token;
  command.name = fields.text.data();
  command.name_bytes = fields.name_bytes;
  command.name_hash = hash_name(fields.text.substr(0, fields.name_bytes));
  command.serial = fields.who_bytes;
  command.note_bytes = static_cast<std::uint16_t>(note.size());
  command.sequence = text_hash(note);
  return command;
}

LockCommand make_end_delay(NameHash name_hash, FencingToken token) {
  LockCommand command;
  command.kind = LockCommandKind::EndDelay;
  command.name_hash = name_hash;
  command.token = token;
  return command;
}

std::size_t encode_force(const LockCommand& command, std::vector<std::byte>& out) {
  GCOORD_ASSERT(is_force_kind(command.kind));
  GCOORD_ASSERT(command.token.value != 0);
  const std::size_t start = out.size();
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(command.kind));
  writer.integer(command.flags);
  if (command.kind == LockCommandKind::EndDelay) {
    writer.integer(command.name_hash.low);
    writer.integer(command.name_hash.high);
    writer.integer(command.token.value);
    return out.size() - start;
  }
  GCOORD_ASSERT(check_break(command).ok());
  writer.integer(command.token.value);
  writer.integer(command.name_bytes);
  writer.integer(static_cast<std::uint8_t>(command.serial));
  writer.bytes(command.name, std::size_t{command.name_bytes} + command.note_bytes);
  return out.size() - start;
}

Result<LockCommand> decode_force(LockCommandKind kind, std::span<const std::byte> bytes) {
  ByteReader reader{bytes};
  return kind == LockCommandKind::BreakLock ? decode_break(reader) : decode_end_delay(reader);
}

}  // namespace gcoord::locks
