#include "protocol/session_messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"

namespace gcoord::protocol {
namespace {

constexpr std::size_t kEntryBytes = 16;

bool state_known(std::uint32_t state) {
  return state >= static_cast<std::uint32_t>(KeepAliveState::Renewed) &&
         state <= static_cast<std::uint32_t>(KeepAliveState::Broken);
}

}  // namespace

std::vector<std::byte> encode_keep_alive(std::span<const SessionId> sessions) {
  GCOORD_ASSERT(sessions.size() <= kKeepAliveSessionsMax);
  std::vector<std::byte> out;
  out.reserve(sizeof(std::uint32_t) + sessions.size() * sizeof(std::uint64_t));
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint32_t>(sessions.size()));
  for (const SessionId session : sessions) {
    writer.integer(session.value);
  }
  return out;
}

Result<std::vector<SessionId>> decode_keep_alive(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  std::vector<SessionId> sessions(reader.count(sizeof(std::uint64_t), kKeepAliveSessionsMax));
  for (SessionId& session : sessions) {
    session = SessionId{reader.integer<std::uint64_t>()};
  }
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "keep_alive");
  }
  return sessions;
}

std::vector<std::byte> encode_keep_alive_reply(std::span<const KeepAliveEntry> entries) {
  GCOORD_ASSERT(entries.size() <= kKeepAliveSessionsMax);
  std::vector<std::byte> out;
  out.reserve(2 * sizeof(std::uint32_t) + entries.size() * kEntryBytes);
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint32_t>(entries.size()));
  writer.integer(std::uint32_t{0});
  for (const KeepAliveEntry& entry : entries) {
    writer.integer(entry.session.value);
    writer.integer(static_cast<std::uint32_t>(entry.state));
    writer.integer(entry.ttl_left_ms);
  }
  return out;
}

Result<std::vector<KeepAliveEntry>> decode_keep_alive_reply(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  const std::uint32_t count = reader.count(kEntryBytes, kKeepAliveSessionsMax);
  static_cast<void>(reader.integer<std::uint32_t>());
  std::vector<KeepAliveEntry> entries(count);
  bool states_known = true;
  for (KeepAliveEntry& entry : entries) {
    entry.session = SessionId{reader.integer<std::uint64_t>()};
    const auto state = reader.integer<std::uint32_t>();
    entry.ttl_left_ms = reader.integer<std::uint32_t>();
    entry.state = static_cast<KeepAliveState>(state);
    states_known = states_known && state_known(state);
  }
  if (!reader.complete() || !states_known) {
    return make_error(ErrorCode::PayloadMalformed, "keep_alive reply");
  }
  return entries;
}

}  // namespace gcoord::protocol
