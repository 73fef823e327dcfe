// The real replica engine behind the services' view of it. One thread.
#pragma once

#include "server/replica_engine.h"
#include "server/replica_port.h"

namespace gcoord::server {

class EnginePort final : public ReplicaPort {
 public:
  explicit EnginePort(ReplicaEngine& engine) : engine_(engine) {}

  void propose(ShardId shard, std::span<const std::byte> command, std::uint64_t cookie) override {
    engine_.propose(shard, command, cookie);
  }

  void read(ShardId shard, std::uint64_t cookie) override { engine_.read(shard, cookie); }

  ShardView view(ShardId shard) const override { return engine_.view(shard); }

  NodeView view() const override { return engine_.view(); }

  void send_peer_message(NodeId to, std::span<const std::byte> message) override {
    engine_.send_peer_message(to, message);
  }

 private:
  ReplicaEngine& engine_;
};

}  // namespace gcoord::server
