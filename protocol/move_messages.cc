#include "protocol/move_messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"
#include "protocol/limits.h"
#include "protocol/lock_messages.h"

namespace gcoord::protocol {

std::vector<std::byte> encode_move(const LockMove& move) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(move.to.value);
  writer.bytes(move.name);
  return out;
}

Result<LockMove> decode_move(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  const ShardId to{reader.integer<std::uint32_t>()};
  if (!reader.ok()) {
    return make_error(ErrorCode::PayloadMalformed, "lock_move");
  }
  return LockMove{to, text_of(payload.subspan(sizeof(std::uint32_t)))};
}

}  // namespace gcoord::protocol
