#include "server/sessions/expiry_message.h"

#include "common/assert.h"
#include "common/limits.h"

#include <cstring>

namespace gcoord::server {

namespace {

struct MessageHeader {
  std::uint8_t kind = 0;
  std::uint8_t reserved[3]{};
  std::uint32_t count = 0;
  std::uint64_t round = 0;
};

static_assert(sizeof(MessageHeader) == 16);
static_assert(sizeof(MessageHeader) + kCasesPerMessageMax * sizeof(ExpiryCase) <=
              kPeerMessageBytesMax);

bool known(std::uint8_t kind) {
  return kind == static_cast<std::uint8_t>(ExpiryMessageKind::Question) ||
         kind == static_cast<std::uint8_t>(ExpiryMessageKind::Answer);
}

}  // namespace

std::vector<std::byte> encode_expiry(ExpiryMessageKind kind,
                                     std::uint64_t round,
                                     std::span<const ExpiryCase> cases) {
  GCOORD_ASSERT(cases.size() <= kCasesPerMessageMax);
  MessageHeader header;
  header.kind = static_cast<std::uint8_t>(kind);
  header.count = static_cast<std::uint32_t>(cases.size());
  header.round = round;
  std::vector<std::byte> message(sizeof(header) + cases.size_bytes());
  std::memcpy(message.data(), &header, sizeof(header));
  if (!cases.empty()) {
    std::memcpy(message.data() + sizeof(header), cases.data(), cases.size_bytes());
  }
  return message;
}

std::optional<ExpiryMessage> decode_expiry(std::span<const std::byte> message) {
  MessageHeader header;
  if (message.size() < sizeof(header)) {
    return std::nullopt;
  }
  std::memcpy(&header, message.data(), sizeof(header));
  const auto cases = message.subspan(sizeof(header));
  if (!known(header.kind) || header.count > kCasesPerMessageMax ||
      cases.size() != header.count * sizeof(ExpiryCase)) {
    return std::nullopt;
  }
  ExpiryMessage decoded{static_cast<ExpiryMessageKind>(header.kind), header.round, {}};
  decoded.cases.resize(header.count);
  if (!cases.empty()) {
    std::memcpy(decoded.cases.data(), cases.data(), cases.size());
  }
  return decoded;
}

}  // namespace gcoord::server
