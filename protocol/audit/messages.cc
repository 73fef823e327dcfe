#include "protocol/audit/messages.h"

#include "common/assert.h"
#include "common/bytes.h"

#include <utility>

namespace gcoord::protocol {

namespace {

Status malformed() {
  return Status{StatusCode::InvalidArgument, "malformed origins of sessions"};
}

}  // namespace

std::vector<std::byte> encode_origins(std::span<const security::KnownOrigin> origins) {
  GCOORD_ASSERT(origins.size() <= kDescribedMax);
  std::vector<std::byte> payload;
  ByteWriter writer{payload};
  writer.integer(static_cast<std::uint32_t>(origins.size()));
  for (const security::KnownOrigin& each : origins) {
    writer.integer(each.session.value);
    writer.integer(each.since_ms);
    security::encode_origin(each.origin, payload);
  }
  return payload;
}

Result<std::vector<security::KnownOrigin>> decode_origins(std::span<const std::byte> payload) {
  constexpr std::size_t kFixedBytes = 16;
  if (payload.size() < sizeof(std::uint32_t)) {
    return malformed();
  }
  const auto count = load<std::uint32_t>(payload.data());
  payload = payload.subspan(sizeof(std::uint32_t));
  if (count > kDescribedMax) {
    return malformed();
  }
  std::vector<security::KnownOrigin> origins;
  for (std::uint32_t k = 0; k < count; ++k) {
    if (payload.size() < kFixedBytes) {
      return malformed();
    }
    security::KnownOrigin known{SessionId{load<std::uint64_t>(payload.data())},
                                load<std::uint64_t>(payload.data() + 8),
                                {}};
    payload = payload.subspan(kFixedBytes);
    auto origin = security::read_origin(payload);
    if (!origin) {
      return malformed();
    }
    known.origin = *std::move(origin);
    origins.push_back(std::move(known));
  }
  return payload.empty() ? Result<std::vector<security::KnownOrigin>>{std::move(origins)}
                         : malformed();
}

}  // namespace gcoord::protocol
