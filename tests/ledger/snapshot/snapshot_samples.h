// Small snapshots, and a reader that remembers what it was told, for tests and fuzzers.
#pragma once

#include "ledger/snapshot/decoder.h"
#include "ledger/snapshot/encoder.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::ledger {

struct SampleShard {
  SnapshotShard head;
  std::vector<std::byte> state;
  std::optional<SnapshotFrontier> frontier;
  std::vector<std::byte> view = {};
  std::vector<std::byte> access = {};
};

inline std::vector<std::byte> sample_state(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> state(bytes);
  for (std::size_t k = 0; k < bytes; ++k) {
    state[k] = static_cast<std::byte>((k * 31 + seed) & 0xffu);
  }
  return state;
}

inline SnapshotHeader sample_header() {
  return {.cluster = ClusterId{0x1122'3344'5566'7788},
          .time_ms = 1'763'790'000'000,
          .node = NodeId{2},
          .shard_count = 8,
          .durable = true,
          .nodes = {{NodeId{1}, Incarnation{3}}, {NodeId{2}, Incarnation{7}}, {NodeId{3}, {}}},
          .release = "0.1.0"};
}

inline std::vector<SampleShard> sample_shards() {
  return {
      {{.shard = ShardId{0}, .applied = LogIndex{9}, .applied_term = Term{2}, .term = Term{2}},
       sample_state(40, 1)},
      {{.shard = ShardId{3}, .applied = LogIndex{1}, .applied_term = Term{1}, .term = Term{4}}, {}},
      {{.shard = ShardId{7}, .applied = LogIndex{300}, .applied_term = Term{3}, .term = Term{3}},
       sample_state(100, 9)}};
}

inline std::vector<std::byte> encode_sample(const SnapshotHeader& header,
                                            const std::vector<SampleShard>& shards) {
  std::vector<std::byte> bytes;
  SnapshotEncoder encoder(header, [&bytes](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  for (const SampleShard& shard : shards) {
    encoder.shard(shard.head, shard.state);
    if (shard.frontier) {
      encoder.frontier(*shard.frontier);
    }
    if (!shard.view.empty()) {
      encoder.section(SnapshotKind::View, kSnapshotPassOver, shard.view);
    }
    if (!shard.access.empty()) {
      encoder.section(SnapshotKind::Access, 0, shard.access);
    }
  }
  encoder.finish();
  return bytes;
}

// Remembers all.
class SampleReader final : public SnapshotStates {
 public:
  Status on_header(const SnapshotHeader& read) override {
    header = read;
    return {};
  }

  Status on_state(const SnapshotState& whole) override {
    shards.push_back({whole.shard, whole.state, whole.frontier});
    return {};
  }

  std::optional<SnapshotHeader> header;
  std::vector<SampleShard> shards;
};

}  // namespace gcoord::ledger
