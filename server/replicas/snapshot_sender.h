// The sending half of snapshot transfers.
//
// A leader's step asks for a snapshot for a lagging peer and asks again until it is acknowledged,
// so nothing here needs to succeed. A snapshot of one chunk leaves at once or not at all. A longer
// one becomes a transfer that sends chunks as the Bulk band takes them; while it runs, and for a
// while after its last chunk, further requests for it are ignored. Transfers are few and bounded.
// One thread.
#pragma once

#include "common/ids.h"
#include "consensus/step/message.h"
#include "netcore/peers/network.h"
#include "server/replicas/metrics.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

namespace gcoord::server {

class SnapshotSender {
 public:
  // Bytes of a snapshot per chunk: with its header below the 64 KiB that travel without a
  // rendezvous.
  static constexpr std::size_t kChunkBytes = 60 * 1024;
  static constexpr std::size_t kTransfersMax = 16;
  static constexpr std::size_t kHeldBytesMax = std::size_t{512} << 20;

  // quiet_ticks: how long a finished transfer keeps further requests for it away.
  SnapshotSender(ReplicaMetrics& metrics, std::uint32_t quiet_ticks)
      : metrics_(metrics), quiet_ticks_(quiet_ticks) {}

  // Whether a snapshot for this message's shard and receiver is wanted now: ask before serialising.
  bool wants(const consensus::Message& message, const netcore::PeerNetwork& network);

  // Sends `bytes` (shard_codec.h), which are the state at message.index, or begins to.
  void start(const consensus::Message& message,
             std::vector<std::byte> bytes,
             netcore::PeerNetwork& network);

  // Sends chunks of the transfers under way. Returns how many.
  std::size_t pump(netcore::PeerNetwork& network, Tick now);

  // The channel to the peer is gone.
  void drop_peer(NodeId peer);

 private:
  struct Transfer {
    consensus::Message message;
    std::vector<std::byte> bytes;
    std::uint32_t crc = 0;
    std::size_t sent_bytes = 0;
    Tick forget_at;  // Once all is sent.
  };

  bool send_chunk(Transfer& transfer, netcore::PeerNetwork& network);

  ReplicaMetrics& metrics_;
  std::uint32_t quiet_ticks_;
  std::list<Transfer> transfers_;
  std::size_t held_bytes_ = 0;
  std::vector<std::byte> extent_;  // Kept warm.
};

}  // namespace gcoord::server
