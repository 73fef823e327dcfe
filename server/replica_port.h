// Interface of the replica engine to the services; tests use a fake.
//
// The calls mean what ReplicaEngine says of them (replica_engine.h). One thread.
#pragma once

#include "common/ids.h"
#include "locks/lock_command.h"
#include "server/engine_view.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::server {

class ReplicaPort {
 public:
  virtual ~ReplicaPort() = default;

  virtual void propose(ShardId shard, std::span<const std::byte> command, std::uint64_t cookie) = 0;
  virtual void read(ShardId shard, std::uint64_t cookie) = 0;

  // As read(), but a quorum confirms leadership whatever a lease says. An engine that knows no
  // lease does so for every read.
  virtual void read_by_round(ShardId shard, std::uint64_t cookie) { read(shard, cookie); }

  // Whether its log has room for the command. An engine whose log lives on a device has little for
  // what a command says beside its name (locks/lock_entry_text.h).
  virtual bool takes(const locks::LockCommand&) const { return true; }

  // Whether its replicas apply moves of locks and lists of sessions that end. An engine whose log
  // lives on a device has no room for them.
  virtual bool takes_lists() const { return true; }

  // Whether ShardView::lease is judged by the clock at each look. An engine whose rows live on a
  // device only hears who led, and a host that stood still hears it late.
  virtual bool times_leases() const { return true; }

  virtual ShardView view(ShardId shard) const = 0;
  virtual NodeView view() const = 0;

  // Sends bytes to the service of another node, at most kPeerMessageBytesMax (common/limits.h);
  // lost when the peer is not connected or out of credit.
  virtual void send_peer_message(NodeId to, std::span<const std::byte> message) = 0;
};

}  // namespace gcoord::server
