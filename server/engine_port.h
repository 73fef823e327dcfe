// The engine with the host's turn, as a node and its services see it. One thread.
#pragma once

#include "server/replica_engine.h"
#include "server/replicated_log.h"

#include <memory>
#include <utility>

namespace gcoord::server {

class EnginePort final : public ReplicatedLog {
 public:
  explicit EnginePort(std::unique_ptr<ReplicaEngine> engine) : engine_(std::move(engine)) {}

  void propose(ShardId shard, std::span<const std::byte> command, std::uint64_t cookie) override {
    engine_->propose(shard, command, cookie);
  }

  void read(ShardId shard, std::uint64_t cookie) override { engine_->read(shard, cookie); }

  void read_by_round(ShardId shard, std::uint64_t cookie) override {
    engine_->read_by_round(shard, cookie);
  }

  ShardView view(ShardId shard) const override { return engine_->view(shard); }

  NodeView view() const override { return engine_->view(); }

  void send_peer_message(NodeId to, std::span<const std::byte> message) override {
    engine_->send_peer_message(to, message);
  }

  std::size_t turn() override { return engine_->turn(); }

  Status failure() const override { return engine_->failure(); }

  bool arm() override { return engine_->arm(); }

  std::vector<int> event_fds() const override { return engine_->event_fds(); }

  std::chrono::milliseconds until_next_deadline() const override {
    return engine_->until_next_deadline();
  }

  bool shrink() override { return engine_->shrink(); }

  Incarnation incarnation() const override { return engine_->incarnation(); }

  std::uint16_t listen_port() const override { return engine_->listen_port(); }

  void transfer(ShardId shard, NodeId to) override { engine_->transfer(shard, to); }

  const ledger::CheckpointStore* checkpoints() const override { return &engine_->checkpoints(); }

  std::uint64_t request_checkpoint() override { return engine_->request_checkpoint(); }

  std::optional<Status> checkpoint_outcome(std::uint64_t number) const override {
    return engine_->checkpoint_outcome(number);
  }

 private:
  std::unique_ptr<ReplicaEngine> engine_;
};

}  // namespace gcoord::server
