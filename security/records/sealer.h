// Sealer of one direction: plain messages in, records out, under keys that rotate.
//
// The next key comes after so many records, so many bytes, or so long, whatever is first. The
// opener at the other end follows by what records say (opener.h); nothing is agreed on. One thread.
#pragma once

#include "security/records/keys.h"
#include "security/records/record.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::security {

// When a key has served its time. AES-GCM bears 2^34.5 blocks under one key before somebody who
// sees all of them has a chance of 2^-60 to learn anything (RFC 8446 section 5.5, "Limits on
// Authenticated Encryption Use in TLS"): these stay below that.
struct RecordRotation {
  std::uint64_t records_max = std::uint64_t{1} << 24;
  std::uint64_t bytes_max = std::uint64_t{1} << 37;  // 128 GiB, 2^33 blocks.
  std::uint64_t age_ms_max = std::uint64_t{3'600'000};
};

class RecordSealer {
 public:
  // `secret` as RecordKeys; `side` seals.
  RecordSealer(std::span<const std::byte> secret,
               RecordSide side,
               const RecordRotation& rotation = {});

  // Writes the record of `plain`, which may not overlap it; `record` has kRecordExtraBytes more.
  // `now_ms` is of any clock that does not go back.
  void seal(std::span<const std::byte> plain, std::span<std::byte> record, std::uint64_t now_ms);

  std::uint32_t epoch() const { return keys_.epoch(); }

  // Records sealed so far.
  std::uint64_t sequence() const { return sequence_; }

 private:
  void rotate_if_due(std::size_t plain_bytes, std::uint64_t now_ms);

  RecordRotation rotation_;
  RecordSide side_;
  RecordKeys keys_;
  RecordCipher cipher_;
  std::uint64_t sequence_ = 0;
  std::uint64_t records_ = 0;  // The next three: of this key.
  std::uint64_t bytes_ = 0;
  std::uint64_t since_ms_ = 0;
};

}  // namespace gcoord::security
