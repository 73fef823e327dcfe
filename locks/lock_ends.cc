#include "locks/lock_ends.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "locks/limits.h"

#include <string>

namespace gcoord::locks {
namespace {

Status bad(const char* what) {
  return Status{StatusCode::InvalidArgument, std::string{"lock command: "} + what};
}

// Sessions that rise are each there once, and one list has one encoding.
Status check_list(const LockCommand& command) {
  const std::uint32_t count = ends_count(command);
  if (command.flags != 0) {
    return bad("unknown flag");
  }
  if (count == 0 || count > kEndsMax || command.note_bytes % kEndBytes != 0) {
    return bad("impossible list of sessions");
  }
  SessionId before;
  for (std::uint32_t i = 0; i < count; ++i) {
    const SessionEnd end = session_end(command, i);
    if (end.session <= before || end.session == kKeeperSession || end.serial == 0) {
      return bad("impossible session in a list");
    }
    before = end.session;
  }
  return {};
}

}  // namespace

std::vector<char> encode_ends(std::span<const SessionEnd> ends) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  for (const SessionEnd& end : ends) {
    writer.integer(end.session.value);
    writer.integer(end.serial);
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return {text, text + bytes.size()};
}

LockCommand make_expire_sessions(std::span<const char> list) {
  GCOORD_ASSERT(list.size() <= kEndsMax * kEndBytes);
  LockCommand command;
  command.kind = LockCommandKind::ExpireSessions;
  command.name = list.data();
  command.note_bytes = static_cast<std::uint16_t>(list.size());
  return command;
}

std::size_t encode_expire_sessions(const LockCommand& command, std::vector<std::byte>& out) {
  GCOORD_ASSERT(command.kind == LockCommandKind::ExpireSessions);
  GCOORD_ASSERT(check_list(command).ok());
  const std::size_t start = out.size();
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(command.kind));
  writer.integer(command.flags);
  writer.bytes(note_start(command), command.note_bytes);
  return out.size() - start;
}

Result<LockCommand> decode_expire_sessions(std::span<const std::byte> bytes) {
  ByteReader reader{bytes};
  const auto flags = reader.integer<std::uint8_t>();
  if (!reader.ok() || reader.rest_bytes() > kEndsMax * kEndBytes) {
    return bad("impossible list of sessions");
  }
  LockCommand command = make_expire_sessions(reader.bytes(reader.rest_bytes()));
  command.flags = flags;
  GCOORD_TRY_STATUS(check_list(command));
  return command;
}

}  // namespace gcoord::locks
