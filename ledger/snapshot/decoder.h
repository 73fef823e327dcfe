// Reads a snapshot (snapshot_format.h) from a stream of bytes in pieces of any size, and trusts
// none of them.
//
// A visitor is told what was read once its own checksum is right; whether the whole is right is
// known only when finish() says so, so nothing that it was told may count before. Holds one section
// at most. Every failure names the place: byte offsets in the file, the section's number, its
// shard, and the bit where one flipped bit explains the damage. Failures carry kSnapshotForeign,
// kSnapshotFormat, kSnapshotCut, kSnapshotRot, kSnapshotTrailing or kSnapshotImpossible; the first
// one is the answer to everything that follows. One thread.
#pragma once

#include "common/status.h"
#include "ledger/base/sha256_stream.h"
#include "ledger/snapshot/format.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::ledger {

// Told in the order of the file; spans live for the call. A failure ends the reading.
class SnapshotVisitor {
 public:
  virtual ~SnapshotVisitor() = default;

  virtual Status on_header(const SnapshotHeader& header) = 0;

  virtual Status on_shard(const SnapshotShard& shard) = 0;

  // A part of what the newest shard has of this kind, State or any above.
  virtual Status on_part(SnapshotKind kind, std::span<const std::byte> bytes, bool last) = 0;

  // There are no more shards.
  virtual Status on_end() { return {}; }
};

// A shard with all that is known of it.
struct SnapshotState {
  SnapshotShard shard;
  std::vector<std::byte> state;
  std::optional<SnapshotFrontier> frontier;
  std::vector<std::byte> view;    // Of shard 0; empty: there was none.
  std::vector<std::byte> access;  // The same of its users and roles.
  std::vector<std::byte> limits;  // The same of its limits.
};

// A visitor that takes each shard as a whole. Memory: the largest state of a shard.
class SnapshotStates : public SnapshotVisitor {
 public:
  virtual Status on_state(const SnapshotState& whole) = 0;

  Status on_shard(const SnapshotShard& shard) override;
  Status on_part(SnapshotKind kind, std::span<const std::byte> bytes, bool last) override;
  Status on_end() override;

 private:
  Status hand_over();

  bool begun_ = false;
  SnapshotState whole_;
  std::vector<std::byte> frontier_;
};

class SnapshotDecoder {
 public:
  // The visitor outlives it.
  explicit SnapshotDecoder(SnapshotVisitor& visitor) : visitor_(visitor) {}

  Status feed(std::span<const std::byte> bytes);

  // The file ends here: OK if it was whole.
  Status finish();

  // Bytes understood so far.
  std::uint64_t bytes() const { return at_; }

  // Once the end was read.
  const SnapshotEnd& end() const { return end_; }

  // SHA-256 of the file; meaningful once finish() said OK.
  const Sha256Stream::Digest& digest() const { return digest_; }

 private:
  enum class Phase : std::uint8_t { Prologue, Head, Payload, Hash, Done };

  struct Head {
    SnapshotKind kind{};
    std::uint16_t flags = 0;
    ShardId shard;
    std::uint32_t payload_bytes = 0;
    std::uint32_t payload_crc = 0;

    bool last() const { return (flags & kSnapshotLastPart) != 0; }
  };

  Status step();
  Status on_prologue();
  Status on_head();
  Status on_payload();
  Status on_hash();
  Status check_order() const;
  Status read_header();
  Status read_shard();
  Status read_part();
  Status read_end();
  void expect(Phase phase, std::size_t byte_count);
  void consume();

  std::string place() const;
  Status impossible(const char* what) const;
  Status rot(const std::string& what, std::size_t checked_bytes, std::uint32_t stored) const;

  SnapshotVisitor& visitor_;
  Status failure_;
  Phase phase_ = Phase::Prologue;
  std::size_t needed_bytes_ = kSnapshotPrologueBytes;
  std::vector<std::byte> buffer_;  // Of the unit that is being read.
  std::uint64_t at_ = 0;           // Where it begins in the file.
  Sha256Stream hash_;
  Sha256Stream::Digest digest_{};
  Head head_;
  SnapshotEnd counted_;  // What was read so far.
  SnapshotEnd end_;      // What the file says.
  std::optional<SnapshotHeader> header_;
  std::optional<SnapshotShard> shard_;  // The newest one.
  SnapshotKind kind_{};                 // Of the newest section.
  bool open_ = false;                   // It has more parts to come.
  std::uint64_t state_bytes_ = 0;       // Of the shard's state so far.
};

}  // namespace gcoord::ledger
