#include "locks/commands/move_command.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "locks/commands/entry_move.h"
#include "locks/commands/limits.h"

#include <string>

namespace gcoord::locks {
namespace {

Status bad(const char* what) {
  return Status{StatusCode::InvalidArgument, std::string{"lock command: "} + what};
}

RequestSequence text_hash(std::string_view text) {
  return RequestSequence{text.empty() ? 0 : hash_name(text).low};
}

Status check_move(const LockCommand& command) {
  if (!move_head_sound(command)) {
    return bad("impossible words of a move");
  }
  if (moves_by_name(command.kind)) {
    GCOORD_TRY_STATUS(check_name({command.name, command.name_bytes}));
  }
  const bool brings = command.kind == LockCommandKind::MoveIn;
  return brings && !moved_sessions_sound(command) ? bad("impossible session of a moved lock")
                                                  : Status{};
}

void set_name(LockCommand& command, std::string_view name) {
  command.name = name.data();
  command.name_bytes = static_cast<std::uint16_t>(name.size());
  command.name_hash = hash_name(name);
}

Result<LockCommand> decode_out(ByteReader& reader) {
  LockCommand command;
  command.kind = LockCommandKind::MoveOut;
  command.flags = reader.integer<std::uint8_t>();
  command.ttl_ms = reader.integer<std::uint32_t>();
  if (!reader.ok() || reader.rest_bytes() > kNameBytesMax) {
    return bad("impossible move");
  }
  set_name(command, reader.bytes(reader.rest_bytes()));
  return command;
}

Result<LockCommand> decode_in(ByteReader& reader) {
  LockCommand command;
  command.kind = LockCommandKind::MoveIn;
  command.flags = reader.integer<std::uint8_t>();
  command.serial = reader.integer<std::uint32_t>();
  command.ttl_ms = reader.integer<std::uint32_t>();
  command.token = FencingToken{reader.integer<std::uint64_t>()};
  command.acked_below = RequestSequence{reader.integer<std::uint64_t>()};
  const auto name_bytes = reader.integer<std::uint16_t>();
  const std::size_t sessions_max = std::size_t{kMoveWaitersMax + 1} * kMovedSessionBytes;
  if (!reader.ok() || name_bytes > reader.rest_bytes() || name_bytes > kNameBytesMax ||
      reader.rest_bytes() - name_bytes > sessions_max) {
    return bad("impossible move");
  }
  const std::string_view text = reader.bytes(reader.rest_bytes());
  set_name(command, text.substr(0, name_bytes));
  command.note_bytes = static_cast<std::uint16_t>(text.size() - name_bytes);
  command.sequence = text_hash(text.substr(name_bytes));
  return command;
}

Result<LockCommand> decode_done(ByteReader& reader) {
  LockCommand command;
  command.kind = LockCommandKind::MoveDone;
  command.flags = reader.integer<std::uint8_t>();
  command.serial = reader.integer<std::uint32_t>();
  command.name_hash.low = reader.integer<std::uint64_t>();
  command.name_hash.high = reader.integer<std::uint64_t>();
  return reader.ok() && reader.rest_bytes() == 0 ? Result<LockCommand>{command}
                                                 : bad("truncated, or trailing bytes");
}

Result<LockCommand> decode_lapse(ByteReader& reader) {
  LockCommand command;
  command.kind = LockCommandKind::MoveLapse;
  command.flags = reader.integer<std::uint8_t>();
  command.session = SessionId{reader.integer<std::uint64_t>()};
  command.sequence = RequestSequence{reader.integer<std::uint64_t>()};
  command.name_hash.low = reader.integer<std::uint64_t>();
  command.name_hash.high = reader.integer<std::uint64_t>();
  return reader.ok() && reader.rest_bytes() == 0 ? Result<LockCommand>{command}
                                                 : bad("truncated, or trailing bytes");
}

}  // namespace

LockCommand make_move_out(std::string_view name, ShardId to) {
  LockCommand command;
  command.kind = LockCommandKind::MoveOut;
  command.ttl_ms = to.value;
  set_name(command, name);
  return command;
}

LockCommand make_move_in(const MoveInFields& fields) {
  GCOORD_ASSERT(fields.name_bytes <= fields.text.size());
  LockCommand command;
  command.kind = LockCommandKind::MoveIn;
  command.serial = fields.number;
  command.ttl_ms = fields.from.value;
  command.token = fields.token;
  command.acked_below = RequestSequence{fields.token_last};
  set_name(command, fields.text.substr(0, fields.name_bytes));
  const std::string_view sessions = fields.text.substr(fields.name_bytes);
  command.note_bytes = static_cast<std::uint16_t>(sessions.size());
  command.sequence = text_hash(sessions);
  return command;
}

LockCommand make_move_done(NameHash name_hash, std::uint32_t number) {
  LockCommand command;
  command.kind = LockCommandKind::MoveDone;
  command.serial = number;
  command.name_hash = name_hash;
  return command;
}

LockCommand make_move_lapse(SessionId session, RequestSequence imported, NameHash name_hash) {
  LockCommand command;
  command.kind = LockCommandKind::MoveLapse;
  command.session = session;
  command.sequence = imported;
  command.name_hash = name_hash;
  return command;
}

bool move_sound(const LockCommand& command) {
  return check_move(command).ok();
}

std::size_t encode_move(const LockCommand& command, std::vector<std::byte>& out) {
  GCOORD_ASSERT(is_move_kind(command.kind));
  GCOORD_ASSERT(check_move(command).ok());
  const std::size_t start = out.size();
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(command.kind));
  writer.integer(command.flags);
  if (command.kind == LockCommandKind::MoveOut) {
    writer.integer(command.ttl_ms);
    writer.bytes(command.name, command.name_bytes);
    return out.size() - start;
  }
  const bool lapses = command.kind == LockCommandKind::MoveLapse;
  if (lapses) {
    writer.integer(command.session.value);
    writer.integer(command.sequence.value);
  } else {
    writer.integer(command.serial);
  }
  if (lapses || command.kind == LockCommandKind::MoveDone) {
    writer.integer(command.name_hash.low);
    writer.integer(command.name_hash.high);
    return out.size() - start;
  }
  writer.integer(command.ttl_ms);
  writer.integer(command.token.value);
  writer.integer(moved_token_last(command));
  writer.integer(command.name_bytes);
  writer.bytes(command.name, std::size_t{command.name_bytes} + command.note_bytes);
  return out.size() - start;
}

Result<LockCommand> decode_move(LockCommandKind kind, std::span<const std::byte> bytes) {
  ByteReader reader{bytes};
  GCOORD_TRY(const LockCommand command,
             kind == LockCommandKind::MoveOut     ? decode_out(reader)
             : kind == LockCommandKind::MoveIn    ? decode_in(reader)
             : kind == LockCommandKind::MoveLapse ? decode_lapse(reader)
                                                  : decode_done(reader));
  GCOORD_TRY_STATUS(check_move(command));
  return command;
}

}  // namespace gcoord::locks
