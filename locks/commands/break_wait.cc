#include "locks/commands/break_wait.h"

#include "common/assert.h"
#include "common/bytes.h"

namespace gcoord::locks {

LockCommand make_break_wait(SessionId session, RequestSequence acquire, LogIndex enqueued_at) {
  LockCommand command;
  command.kind = LockCommandKind::BreakWait;
  command.session = session;
  command.sequence = acquire;
  command.token = FencingToken{enqueued_at.value};
  return command;
}

std::size_t encode_break_wait(const LockCommand& command, std::vector<std::byte>& out) {
  GCOORD_ASSERT(command.kind == LockCommandKind::BreakWait);
  GCOORD_ASSERT(break_wait_sound(command));
  const std::size_t start = out.size();
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(command.kind));
  writer.integer(command.flags);
  writer.integer(command.session.value);
  writer.integer(command.sequence.value);
  writer.integer(command.token.value);
  return out.size() - start;
}

Result<LockCommand> decode_break_wait(std::span<const std::byte> bytes) {
  ByteReader reader{bytes};
  LockCommand command;
  command.kind = LockCommandKind::BreakWait;
  command.flags = reader.integer<std::uint8_t>();
  command.session = SessionId{reader.integer<std::uint64_t>()};
  command.sequence = RequestSequence{reader.integer<std::uint64_t>()};
  command.token = FencingToken{reader.integer<std::uint64_t>()};
  if (!reader.ok() || reader.rest_bytes() != 0 || !break_wait_sound(command)) {
    return Status{StatusCode::InvalidArgument, "lock command: no wait that could be broken"};
  }
  return command;
}

}  // namespace gcoord::locks
