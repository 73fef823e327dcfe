#include "locks/commands/ends.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "locks/commands/limits.h"

#include <string>

namespace gcoord::locks {
namespace {

Status bad(const char* what) {
  return Status{StatusCode::InvalidArgument, std::string{"lock command: "} + what};
}

Status check_list(const LockCommand& command) {
  if (command.flags != 0) {
    return bad("unknown flag");
  }
  const Status list = sessions::check_ends(ends_of(command));
  return list.ok() ? Status{} : bad(list.message().c_str());
}

}  // namespace

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
