// A sealed record: its bytes, and why one is refused.
//
//   algorithm u8 = 1 | direction u8 | 0 0 | epoch u32 | sequence u64 | ciphertext | tag 16
//
// Little-endian; never renumber. The header travels in plain text and is covered by the tag, so
// that nobody changes it. Algorithm 1 is AES-256-GCM (NIST SP 800-38D): the nonce is the salt of
// the key, 12 bytes, whose last 8 are xored with the sequence (RFC 8446 section 5.3). A sequence
// begins at 0, rises by one with each record, and goes on across keys. Pure; thread-safe.
#pragma once

#include "common/status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gcoord::security {

inline constexpr std::uint8_t kRecordAlgorithm = 1;
inline constexpr std::size_t kRecordHeaderBytes = 16;
inline constexpr std::size_t kRecordTagBytes = 16;
// What a record has more than its plain text.
inline constexpr std::size_t kRecordExtraBytes = kRecordHeaderBytes + kRecordTagBytes;
// Of plain text; above any message between nodes.
inline constexpr std::size_t kRecordPlainBytesMax = std::size_t{4} << 20;

// Which end of the connection seals. The values travel; never renumber.
enum class RecordSide : std::uint8_t { Caller = 0, Called = 1 };

constexpr RecordSide other_side(RecordSide side) {
  return side == RecordSide::Caller ? RecordSide::Called : RecordSide::Caller;
}

// What became of a record that came. Each but the first has its error number, GC3130 to GC3136.
enum class RecordVerdict : std::uint8_t {
  Opened,
  Malformed,   // Too short or too long, or reserved bytes are not zero.
  Algorithm,   // Another one.
  Reflected,   // Of this side.
  Epoch,       // Sealed with no key that may still be in use.
  Forged,      // Changed on its way, or made without the key.
  Replayed,    // Seen, or older than the window.
  OutOfOrder,  // Genuine, and others before it are missing where the order is kept.
};

inline constexpr std::size_t kRecordVerdicts = 8;

// "forged" and so on.
std::string_view record_verdict_name(RecordVerdict verdict);

// The failure for the operator. Not for Opened.
Status record_failure(RecordVerdict verdict);

struct RecordHeader {
  RecordSide side = RecordSide::Caller;
  std::uint32_t epoch = 0;
  std::uint64_t sequence = 0;
};

void write_record_header(const RecordHeader& header, std::span<std::byte, kRecordHeaderBytes> out);

// Opened fills `header`: it has the form of one, and nothing in it is proven.
RecordVerdict read_record_header(std::span<const std::byte> record, RecordHeader& header);

}  // namespace gcoord::security
