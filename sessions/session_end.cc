#include "sessions/session_end.h"

#include "common/bytes.h"

namespace gcoord::sessions {

std::vector<char> encode_ends(std::span<const SessionEnd> ends) {
  std::vector<char> bytes(ends.size() * kEndBytes);
  auto* at = reinterpret_cast<std::byte*>(bytes.data());
  for (const SessionEnd& end : ends) {
    at = store(store(at, end.session.value), end.serial);
  }
  return bytes;
}

// Sessions that rise are each there once, and one list has one encoding.
Status check_ends(const SessionEnds& ends) {
  const std::uint32_t count = ends.count();
  if (count == 0 || count > kEndsMax || ends.byte_count % kEndBytes != 0) {
    return Status{StatusCode::InvalidArgument, "impossible list of sessions"};
  }
  SessionId before;
  for (std::uint32_t i = 0; i < count; ++i) {
    const SessionEnd end = ends[i];
    if (end.session <= before || end.session == kKeeperSession || end.serial == 0) {
      return Status{StatusCode::InvalidArgument, "impossible session in a list"};
    }
    before = end.session;
  }
  return {};
}

}  // namespace gcoord::sessions
