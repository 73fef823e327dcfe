// Writes a snapshot (snapshot_format.h) as a stream of bytes, hash and all.
//
// The bytes go to a sink in pieces of about a section, so whoever writes or sends them holds no
// more than that. What is given must be right: it is the caller's own. One thread.
#pragma once

#include "ledger/base/sha256_stream.h"
#include "ledger/snapshot/format.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gcoord::ledger {

class SnapshotEncoder {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;

  // Writes prologue and header. The sink outlives the encoder; its span lives for the call.
  SnapshotEncoder(const SnapshotHeader& header, Sink sink);

  // The next shard, above all before it; `shard.state_bytes` follows from `state`.
  void shard(SnapshotShard shard, std::span<const std::byte> state);

  // The frontier of the newest shard's tree, behind its state.
  void frontier(const SnapshotFrontier& frontier);

  // More about the newest shard; kinds rise.
  void section(SnapshotKind kind, std::uint16_t flags, std::span<const std::byte> bytes);

  // Writes the end and the hash. Nothing may follow.
  void finish();

 private:
  void part(SnapshotKind kind,
            std::uint16_t flags,
            ShardId shard,
            std::span<const std::byte> payload);
  void emit(std::span<const std::byte> bytes);

  Sink sink_;
  Sha256Stream hash_;
  SnapshotEnd end_;
  std::uint32_t declared_shards_ = 0;
  ShardId shard_;
  SnapshotKind kind_ = SnapshotKind::Header;
  std::vector<std::byte> payload_;  // Scratch.
};

}  // namespace gcoord::ledger
