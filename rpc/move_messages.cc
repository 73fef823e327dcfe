#include "rpc/move_messages.h"

#include "common/bytes.h"
#include "rpc/error_codes.h"
#include "rpc/limits.h"
#include "rpc/lock_messages.h"

namespace gcoord::rpc {

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

}  // namespace gcoord::rpc
