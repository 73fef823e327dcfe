#include "sessions/session_end.h"

#include <concepts>

namespace gcoord::sessions {
namespace {

template <std::unsigned_integral T>
void append_little(std::vector<char>& bytes, T value) {
  for (std::size_t k = 0; k < sizeof(T); ++k) {
    bytes.push_back(static_cast<char>(value >> (8 * k) & 0xffu));
  }
}

}  // namespace

std::vector<char> encode_ends(std::span<const SessionEnd> ends) {
  std::vector<char> bytes;
  bytes.reserve(ends.size() * kEndBytes);
  for (const SessionEnd& end : ends) {
    append_little(bytes, end.session.value);
    append_little(bytes, end.serial);
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
