// Origin and time of an entry of a device, in the number of its request (docs/adr/0159).
//
// An entry of a device is full: 64 bytes, of which the last eight number the request of its
// leader's host (locks/commands/entry_layout.h). With Feature::DeviceLedger that number says who
// asked and when, too, so that every host makes the same leaf as a turn on the host would
// (log_record.h):
//
//   bit 63: 1   bit 62: 0   time 40 bits   origin 2 bits   count 20 bits
//
// The time is in milliseconds since 2026 began: until 2060. A clock that reads less or more is
// stamped with the nearest time that can be said, never with 0, so no leaf of this kind reads as an
// entry of a device (server/history/record_text.h). The count tells requests of one millisecond
// apart, and the pieces of a command have counts in a row that do not wrap. Numbers without a stamp
// count up from 1 and never reach bit 62. Plain functions; thread-safe.
#pragma once

#include "protocol/reply_sink.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace gcoord::server {

// Never change: they are in logs.
inline constexpr std::uint64_t kStampEpochMs = 1'767'225'600'000;  // 2026-01-01T00:00:00Z.
inline constexpr unsigned kStampCountBits = 20;
inline constexpr unsigned kStampOriginBits = 2;
inline constexpr unsigned kStampTimeBits = 40;
inline constexpr std::uint64_t kStampedRequest = std::uint64_t{1} << 63;

static_assert(kStampCountBits + kStampOriginBits + kStampTimeBits == 62);

inline constexpr std::uint64_t kStampCountMask = (std::uint64_t{1} << kStampCountBits) - 1;

struct EntryStamp {
  protocol::RecordOrigin origin = protocol::RecordOrigin::System;
  std::uint64_t time_ms = kStampEpochMs;  // Unix milliseconds.

  friend bool operator==(const EntryStamp& a, const EntryStamp& b) = default;
};

// The number of a request without its count.
constexpr std::uint64_t stamp_bits(const EntryStamp& stamp) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << kStampTimeBits) - 1;
  const std::uint64_t since = stamp.time_ms - std::min(stamp.time_ms, kStampEpochMs);
  const auto origin = static_cast<std::uint64_t>(stamp.origin) & ((1u << kStampOriginBits) - 1);
  return kStampedRequest | std::min(since, kMost) << (kStampCountBits + kStampOriginBits) |
         origin << kStampCountBits;
}

// What the number of a request says; nothing: it has no stamp. The origin may be one that a newer
// release knows.
constexpr std::optional<EntryStamp> stamp_of(std::uint64_t request) {
  if (request >> 62 != kStampedRequest >> 62) {
    return std::nullopt;
  }
  const std::uint64_t said = request >> kStampCountBits;
  const auto origin = static_cast<std::uint8_t>(said & ((1u << kStampOriginBits) - 1));
  const std::uint64_t since = said >> kStampOriginBits & ((std::uint64_t{1} << kStampTimeBits) - 1);
  return EntryStamp{protocol::RecordOrigin{origin}, kStampEpochMs + since};
}

}  // namespace gcoord::server
