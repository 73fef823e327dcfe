#include "server/sessions/expiry_message.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/limits.h"

#include <cstring>

namespace gcoord::server {

namespace {

struct MessageHeader {
  std::uint8_t kind = 0;
  std::uint8_t flags = 0;
  std::uint8_t reserved[2]{};
  std::uint32_t count = 0;
  std::uint64_t round = 0;
};

static_assert(sizeof(MessageHeader) == 16);
static_assert(sizeof(MessageHeader) + kCasesPerMessageMax * sizeof(ExpiryCase) +
                  sizeof(std::uint64_t) <=
              kPeerMessageBytesMax);

// Never renumber.
constexpr std::uint8_t kWithEpoch = 1;

bool known(std::uint8_t kind) {
  return kind == static_cast<std::uint8_t>(ExpiryMessageKind::Question) ||
         kind == static_cast<std::uint8_t>(ExpiryMessageKind::Answer);
}

}  // namespace

std::vector<std::byte> encode_expiry(const ExpiryMessage& message) {
  GCOORD_ASSERT(message.cases.size() <= kCasesPerMessageMax);
  MessageHeader header;
  header.kind = static_cast<std::uint8_t>(message.kind);
  header.flags = message.with_epoch ? kWithEpoch : std::uint8_t{0};
  header.count = static_cast<std::uint32_t>(message.cases.size());
  header.round = message.round;
  std::vector<std::byte> bytes;
  bytes.reserve(sizeof(header) + message.cases.size() * sizeof(ExpiryCase) + sizeof(message.epoch));
  ByteWriter writer{bytes};
  writer.bytes(&header, sizeof(header));
  writer.bytes(message.cases.data(), message.cases.size() * sizeof(ExpiryCase));
  if (message.with_epoch && message.kind == ExpiryMessageKind::Answer) {
    writer.integer(message.epoch);
  }
  return bytes;
}

std::optional<ExpiryMessage> decode_expiry(std::span<const std::byte> message) {
  MessageHeader header;
  if (message.size() < sizeof(header)) {
    return std::nullopt;
  }
  std::memcpy(&header, message.data(), sizeof(header));
  const auto rest = message.subspan(sizeof(header));
  const bool answer = header.kind == static_cast<std::uint8_t>(ExpiryMessageKind::Answer);
  ExpiryMessage decoded{.kind = static_cast<ExpiryMessageKind>(header.kind),
                        .round = header.round,
                        .cases = {},
                        .with_epoch = (header.flags & kWithEpoch) != 0};
  const std::size_t epoch_bytes = answer && decoded.with_epoch ? sizeof(decoded.epoch) : 0;
  if (!known(header.kind) || header.count > kCasesPerMessageMax ||
      rest.size() != header.count * sizeof(ExpiryCase) + epoch_bytes) {
    return std::nullopt;
  }
  decoded.cases.resize(header.count);
  if (header.count != 0) {
    std::memcpy(decoded.cases.data(), rest.data(), header.count * sizeof(ExpiryCase));
  }
  if (epoch_bytes != 0) {
    std::memcpy(&decoded.epoch, rest.last(epoch_bytes).data(), epoch_bytes);
  }
  return decoded;
}

}  // namespace gcoord::server
