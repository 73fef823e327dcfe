#include "locks/commands/group_command.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "locks/commands/limits.h"

#include <string>

namespace gcoord::locks {
namespace {

Status bad(const char* what) {
  return Status{StatusCode::InvalidArgument, std::string{"lock command: "} + what};
}

void set_name(LockCommand& command, std::string_view name) {
  command.name = name.data();
  command.name_bytes = static_cast<std::uint16_t>(name.size());
  command.name_hash = hash_name(name);
}

// The rest of a request's text. Its hash tells a retry from another request.
void set_body(LockCommand& command, std::string_view body) {
  command.note_bytes = static_cast<std::uint16_t>(body.size());
  command.token = FencingToken{hash_name(body).low};
}

Status check_caller(const LockCommand& command) {
  if (command.session.value == 0 || command.session == kKeeperSession) {
    return bad("a session that does not belong to a client");
  }
  if (command.sequence.value == 0 || is_imported(command.sequence)) {
    return bad("a sequence that does not belong to a client");
  }
  return {};
}

Status check_group_request(const LockCommand& command) {
  GCOORD_TRY_STATUS(check_caller(command));
  const bool in_order = command.acked_below.value > 0 && command.acked_below <= command.sequence;
  if (!in_order || command.sequence - command.acked_below > 0xffff'ffffu) {
    return bad("acked_below out of range");
  }
  const bool registers = (command.flags & kAcquireRegister) != 0;
  if ((command.flags & ~kAcquireRegister) != 0 || registers != (command.ttl_ms != 0) ||
      command.ttl_ms > kTtlMsMax) {
    return bad("flags or TTL of a group's request");
  }
  const bool fits = command.note_bytes >= 1 && command.note_bytes <= kGroupBodyBytesMax;
  return fits ? Status{} : bad("length of a group's request");
}

Status check_group_name(std::string_view name) {
  return name.size() > kGroupNameBytesMax ? bad("name of a group above 256 bytes")
                                          : check_name(name);
}

}  // namespace

LockCommand make_group_request(const GroupFields& fields) {
  LockCommand command;
  command.kind = LockCommandKind::GroupRequest;
  command.flags = fields.ttl_ms != 0 ? kAcquireRegister : std::uint8_t{0};
  command.ttl_ms = fields.ttl_ms;
  command.session = fields.session;
  command.sequence = fields.sequence;
  command.acked_below = fields.acked_below;
  set_name(command, fields.text.substr(0, fields.name_bytes));
  set_body(command, fields.text.substr(fields.name_bytes));
  return command;
}

LockCommand make_group_withdraw(const GroupArrivalFields& arrival) {
  LockCommand command;
  command.kind = LockCommandKind::GroupWithdraw;
  command.flags = arrival.flags;
  command.session = arrival.session;
  command.sequence = arrival.sequence;
  command.token = FencingToken{arrival.generation};
  set_name(command, arrival.name);
  return command;
}

std::string_view group_body(const LockCommand& command) {
  return {command.name + command.name_bytes, command.note_bytes};
}

std::size_t encode_group(const LockCommand& command, std::vector<std::byte>& out) {
  const bool requests = command.kind == LockCommandKind::GroupRequest;
  GCOORD_ASSERT(requests ? check_group_request(command).ok() : check_caller(command).ok());
  const std::size_t start = out.size();
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(command.kind));
  writer.integer(command.flags);
  if (requests) {
    writer.integer(static_cast<std::uint32_t>(command.sequence - command.acked_below));
  }
  writer.integer(command.session.value);
  writer.integer(command.sequence.value);
  if (!requests) {
    writer.integer(command.token.value);
    writer.bytes(command.name, command.name_bytes);
    return out.size() - start;
  }
  if (command.ttl_ms != 0) {
    writer.integer(command.ttl_ms);
  }
  writer.integer(command.name_bytes);
  writer.bytes(command.name, std::size_t{command.name_bytes} + command.note_bytes);
  return out.size() - start;
}

Result<LockCommand> decode_group(LockCommandKind kind, std::span<const std::byte> bytes) {
  const bool requests = kind == LockCommandKind::GroupRequest;
  ByteReader reader{bytes};
  LockCommand command;
  command.kind = kind;
  command.flags = reader.integer<std::uint8_t>();
  const std::uint32_t acked = requests ? reader.integer<std::uint32_t>() : 0;
  command.session = SessionId{reader.integer<std::uint64_t>()};
  command.sequence = RequestSequence{reader.integer<std::uint64_t>()};
  if (requests) {
    // A distance beyond the sequence wraps to a number above it, which is refused.
    command.acked_below = RequestSequence{command.sequence.value - acked};
    const bool registers = (command.flags & kAcquireRegister) != 0;
    command.ttl_ms = registers ? reader.integer<std::uint32_t>() : 0;
  } else {
    command.token = FencingToken{reader.integer<std::uint64_t>()};
  }
  const std::size_t name_bytes = requests ? reader.integer<std::uint16_t>() : reader.rest_bytes();
  if (!reader.ok() || name_bytes > reader.rest_bytes()) {
    return bad("truncated");
  }
  const std::string_view name = reader.bytes(name_bytes);
  GCOORD_TRY_STATUS(check_group_name(name));
  set_name(command, name);
  if (!requests) {
    GCOORD_TRY_STATUS(check_caller(command));
    return command.flags <= kWithdrawLastCall ? Result<LockCommand>{command} : bad("unknown flag");
  }
  if (reader.rest_bytes() > kGroupBodyBytesMax) {
    return bad("length of a group's request");
  }
  set_body(command, reader.bytes(reader.rest_bytes()));
  GCOORD_TRY_STATUS(check_group_request(command));
  return command;
}

}  // namespace gcoord::locks
