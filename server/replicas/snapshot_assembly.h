// The receiving half of snapshot transfers: chunks become whole, checked snapshots.
//
// One assembly per (peer, shard). Chunks come in order on a channel; the first one begins an
// assembly anew, any other must continue it, and the last one completes it if the checksum of the
// whole is right and it decodes. Memory is bounded: the number of assemblies and the sum of their
// bytes, which grow only as bytes arrive. When there is no room, the oldest one gives way: its
// sender begins again by itself. One thread.
#pragma once

#include "common/ids.h"
#include "consensus/step/message.h"
#include "server/interfaces/state_machine.h"
#include "server/replicas/active.h"
#include "server/replicas/metrics.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

namespace gcoord::server {

// The longest snapshot of one shard: a shard that needs more is split by more shards, not by this.
inline constexpr std::uint64_t kSnapshotBytesMax = std::uint64_t{256} << 20;

class SnapshotAssembly {
 public:
  static constexpr std::size_t kAssembliesMax = 64;
  static constexpr std::uint64_t kHeldBytesMax = kSnapshotBytesMax;

  // `service` judges what a peer says a shard's state is.
  SnapshotAssembly(const StateMachine& service, ReplicaMetrics& metrics)
      : service_(service), metrics_(metrics) {}

  // A chunk from a peer: its Snapshot message, already checked in form, and its extent. Returns the
  // snapshot when this chunk completes it.
  std::unique_ptr<ArrivedSnapshot> on_chunk(const consensus::Message& message,
                                            std::span<const std::byte> extent);

  // The channel to the peer is gone, and with it the rest of its chunks.
  void drop_peer(NodeId peer);

  std::uint64_t held_bytes() const { return held_bytes_; }

 private:
  struct Assembly {
    consensus::Message message;
    std::uint64_t total_bytes = 0;
    std::uint32_t total_crc = 0;
    std::vector<std::byte> bytes;
  };

  using Place = std::list<Assembly>::iterator;

  Place find(const consensus::Message& message);
  void erase(Place place);
  void make_room(std::size_t byte_count);
  std::unique_ptr<ArrivedSnapshot> complete(Place place);

  const StateMachine& service_;
  ReplicaMetrics& metrics_;
  std::list<Assembly> assemblies_;  // Oldest first; few, so they are searched.
  std::uint64_t held_bytes_ = 0;
};

}  // namespace gcoord::server
