#include "protocol/past_messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"
#include "protocol/limits.h"

#include <utility>

namespace gcoord::protocol {

namespace {

constexpr std::size_t kIndexBytes = sizeof(std::uint64_t);
constexpr std::size_t kReplyHeadBytes = 4 + 8 + 1;

}  // namespace

std::vector<std::byte> encode_past_query(const PastQuery& query) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(query.index.value);
  writer.bytes(query.name);
  return out;
}

Result<PastQuery> decode_past_query(std::span<const std::byte> payload) {
  if (payload.size() < kIndexBytes) {
    return make_error(ErrorCode::PayloadMalformed, "lock_get_at");
  }
  ByteReader reader{payload.first(kIndexBytes)};
  PastQuery query;
  query.index = LogIndex{reader.integer<std::uint64_t>()};
  query.name = text_of(payload.subspan(kIndexBytes));
  return query;
}

std::vector<std::byte> encode_past_reply(const PastReply& reply) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(reply.shard.value);
  writer.integer(reply.index.value);
  writer.integer(static_cast<std::uint8_t>(reply.present ? 1 : 0));
  if (reply.present) {
    writer.bytes(text_of(encode_lock_details(reply.row)));
  }
  return out;
}

Result<PastReply> decode_past_reply(std::span<const std::byte> payload) {
  const auto malformed = [] {
    return make_error(ErrorCode::PayloadMalformed, "lock_get_at reply");
  };
  if (payload.size() < kReplyHeadBytes) {
    return malformed();
  }
  ByteReader reader{payload.first(kReplyHeadBytes)};
  PastReply reply;
  reply.shard = ShardId{reader.integer<std::uint32_t>()};
  reply.index = LogIndex{reader.integer<std::uint64_t>()};
  const auto present = reader.integer<std::uint8_t>();
  const auto rest = payload.subspan(kReplyHeadBytes);
  if (present > 1 || (present == 0 && !rest.empty())) {
    return malformed();
  }
  reply.present = present == 1;
  if (reply.present) {
    GCOORD_TRY(reply.row, decode_lock_details(rest));
  }
  return reply;
}

}  // namespace gcoord::protocol
