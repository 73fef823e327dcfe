#include "server/peers/coordinator_message.h"

#include <cstring>

namespace gcoord::server {

namespace {

// As it travels. A later release may say more behind it.
struct Wire {
  std::byte kind = kCoordinatorKind;
  std::uint8_t method = 0;
  std::uint8_t word = 0;
  std::uint8_t hops = 0;
  std::uint32_t subject = 0;
};

static_assert(sizeof(Wire) == 8);

}  // namespace

std::vector<std::byte> encode_coordinator(const CoordinatorMessage& message) {
  const Wire wire{kCoordinatorKind,
                  static_cast<std::uint8_t>(message.method),
                  static_cast<std::uint8_t>(message.word),
                  message.hops,
                  message.subject.value};
  std::vector<std::byte> bytes(sizeof(wire));
  std::memcpy(bytes.data(), &wire, sizeof(wire));
  return bytes;
}

std::optional<CoordinatorMessage> decode_coordinator(std::span<const std::byte> bytes) {
  Wire wire;
  if (bytes.size() < sizeof(wire)) {
    return std::nullopt;
  }
  std::memcpy(&wire, bytes.data(), sizeof(wire));
  const bool known = wire.kind == kCoordinatorKind && wire.word >= 1 &&
                     wire.word <= kCoordinatorWordLast && wire.hops >= 1 && wire.subject != 0;
  if (!known) {
    return std::nullopt;
  }
  return CoordinatorMessage{
      CoordinatorMethod{wire.method}, CoordinatorWord{wire.word}, wire.hops, NodeId{wire.subject}};
}

}  // namespace gcoord::server
