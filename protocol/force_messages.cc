#include "protocol/force_messages.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"

namespace gcoord::protocol {
namespace {

constexpr std::uint8_t kAll = 1;

// Flags and two lengths.
constexpr std::size_t kHeadBytes = 1 + 2 + 2;

// Token, index, shard, name length, one byte of name.
constexpr std::size_t kLossBytesMin = 8 + 8 + 4 + 2 + 1;

}  // namespace

std::vector<std::byte> encode_break(const LockBreak& request) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(request.all ? kAll : std::uint8_t{0});
  writer.text(request.name);
  writer.text(request.who);
  writer.bytes(request.reason);
  return out;
}

Result<LockBreak> decode_break(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LockBreak request;
  const auto flags = reader.integer<std::uint8_t>();
  request.name = reader.text(payload.size());
  request.who = reader.text(payload.size());
  if (!reader.ok() || (flags & ~kAll) != 0) {
    return make_error(ErrorCode::PayloadMalformed, "lock_break");
  }
  request.all = flags == kAll;
  request.reason = text_of(payload.subspan(kHeadBytes + request.name.size() + request.who.size()));
  return request;
}

std::vector<std::byte> encode_losses(std::span<const LossEntry> losses) {
  GCOORD_ASSERT(losses.size() <= kLossesMax);
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint32_t>(losses.size()));
  for (const LossEntry& loss : losses) {
    writer.integer(loss.token.value);
    writer.integer(loss.broken_at.value);
    writer.integer(loss.shard.value);
    writer.text(loss.name);
  }
  return out;
}

Result<std::vector<LossEntry>> decode_losses(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  std::vector<LossEntry> losses(reader.count(kLossBytesMin, kLossesMax));
  for (LossEntry& loss : losses) {
    loss.token = FencingToken{reader.integer<std::uint64_t>()};
    loss.broken_at = LogIndex{reader.integer<std::uint64_t>()};
    loss.shard = ShardId{reader.integer<std::uint32_t>()};
    loss.name = reader.text(kNameBytesMax);
  }
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "session_losses");
  }
  return losses;
}

}  // namespace gcoord::protocol
