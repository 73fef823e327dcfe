#include "protocol/logs/level_messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"
#include "protocol/limits.h"
#include "protocol/lock_messages.h"

#include <cstdint>

namespace gcoord::protocol {

std::vector<std::byte> encode_log_levels(const LogLevelsOrder& order) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.text(order.levels);
  writer.bytes(order.who);
  return out;
}

Result<LogLevelsOrder> decode_log_levels(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LogLevelsOrder order;
  order.levels = reader.text(kLogLevelsBytesMax);
  if (!reader.ok()) {
    return make_error(ErrorCode::PayloadMalformed, "log_levels");
  }
  order.who = text_of(payload.subspan(sizeof(std::uint16_t) + order.levels.size()));
  if (order.who.size() > kBreakWhoBytesMax) {
    return make_error(ErrorCode::PayloadMalformed, "log_levels");
  }
  return order;
}

}  // namespace gcoord::protocol
