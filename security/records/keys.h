// Keys of one direction of a connection: one for each epoch, derived from the one before.
//
// The first comes from key material that both ends have and nobody else, such as what a TLS
// connection exports (RFC 8446 section 7.5). A step forgets the secret that it came from, so who
// takes the present one from memory reads nothing of earlier epochs (as section 7.2 there). All of
// it is wiped when it ends. One thread for each.
#pragma once

#include "security/records/record.h"
#include "security/secret/bytes.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace gcoord::security {

// AES-256-GCM with one key, set up once for many records.
class RecordCipher {
 public:
  enum class Use : std::uint8_t { Seal, Open };

  // `key` has 32 bytes, `salt` 12.
  RecordCipher(Use use, std::span<const std::byte> key, std::span<const std::byte> salt);
  ~RecordCipher();
  RecordCipher(RecordCipher&&) noexcept;
  RecordCipher& operator=(RecordCipher&&) noexcept;

  // `record` has room for header, plain text and tag, and begins with the header, which has this
  // sequence. The plain text may not overlap it. For Seal; no two records have one sequence.
  void seal(std::uint64_t sequence, std::span<const std::byte> plain, std::span<std::byte> record);

  // `plain` has as much room as the record's plain text needs. False: the record is not genuine,
  // and `plain` has nothing of it. For Open.
  bool open(std::uint64_t sequence, std::span<const std::byte> record, std::span<std::byte> plain);

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

class RecordKeys {
 public:
  // Of the direction in which `side` seals. `secret` has at least 32 bytes.
  RecordKeys(std::span<const std::byte> secret, RecordSide side);

  // Of the present epoch, which is 0 at first.
  RecordCipher cipher(RecordCipher::Use use) const;

  std::uint32_t epoch() const { return epoch_; }

  // To the next epoch.
  void step();

 private:
  SecretBytes secret_;
  std::uint32_t epoch_ = 0;
};

}  // namespace gcoord::security
