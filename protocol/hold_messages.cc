// Acquires that ask for more than a plain hold.
#include "common/bytes.h"
#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"

namespace gcoord::protocol {

namespace {

// flags, permits, limit, delay, zero, name bytes.
constexpr std::size_t kHeadBytes = 1 + 1 + 2 + 2 + 2 + 2;

}  // namespace

std::vector<std::byte> encode_hold(const LockHold& hold) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(hold.flags);
  writer.integer(hold.permits);
  writer.integer(hold.limit);
  writer.integer(hold.delay_ms);
  writer.integer(std::uint16_t{0});
  writer.text(hold.name);
  writer.bytes(hold.note);
  return out;
}

Result<LockHold> decode_hold(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  LockHold hold;
  hold.flags = reader.integer<std::uint8_t>();
  hold.permits = reader.integer<std::uint8_t>();
  hold.limit = reader.integer<std::uint16_t>();
  hold.delay_ms = reader.integer<std::uint16_t>();
  const auto zeros = reader.integer<std::uint16_t>();
  hold.name = reader.text(payload.size());
  if (!reader.ok() || zeros != 0) {
    return make_error(ErrorCode::PayloadMalformed, "lock_acquire_hold");
  }
  hold.note = text_of(payload.subspan(kHeadBytes + hold.name.size()));
  return hold;
}

RequestSlot to_hold_slot(const LockAcquire& acquire) {
  RequestSlot slot = to_slot(acquire);
  slot.kind = RequestKind::LockAcquireHold;
  return slot;
}

}  // namespace gcoord::protocol
