// Registers in the replicated log, for gcoord-node: read, write, compare-and-set, by key.
//
// A command is JSON text; keys and values are any JSON, told apart by their canonical text. One
// thread, the engine's. Host only.
#pragma once

#include "common/json/value.h"
#include "server/interfaces/state_machine.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace gcoord::cli {

// Maelstrom's error codes (its doc/protocol.md); those below 10 or named crash are of unknown
// outcome.
enum class NodeError : int {
  NotSupported = 10,
  TemporarilyUnavailable = 11,  // It certainly did not happen.
  MalformedRequest = 12,
  Crash = 13,  // It may have happened.
  KeyDoesNotExist = 20,
  PreconditionFailed = 22,
};

Json node_error(NodeError code, const std::string& text);

class RegisterService final : public server::StateMachine {
 public:
  // The answer to a request, as the body of its reply without msg_id and in_reply_to.
  using Answer = std::function<void(std::uint64_t cookie, const Json& body)>;
  using PeerMessage = std::function<void(NodeId from, std::span<const std::byte> message)>;

  RegisterService(std::uint32_t shard_count, Answer answer, PeerMessage on_peer)
      : shards_(shard_count), answer_(std::move(answer)), on_peer_(std::move(on_peer)) {}

  // What a read of the key will answer; valid inside on_read.
  void note_read(std::uint64_t cookie, ShardId shard, const std::string& key) {
    reads_[cookie] = {shard, key};
  }

  void apply(const server::AppliedEntry& entry) override;
  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  void on_read(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  void serialize(ShardId shard, std::vector<std::byte>& bytes) override;
  Status install(ShardId shard, std::span<const std::byte> bytes) override;
  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override;
  std::uint64_t state_hash(ShardId shard) const override;
  void on_peer_message(NodeId from, std::span<const std::byte> message) override;

  void on_role(ShardId, consensus::Role, Term, NodeId) override {}

  // Leases of the engine are judged by the engine; nothing here waits for time.
  void on_loop_gap(std::uint64_t) override {}

 private:
  using Registers = std::map<std::string, std::string>;  // Canonical text of key and value.

  struct Read {
    ShardId shard;
    std::string key;
  };

  static Json execute(Registers& registers, const Json& command);
  std::string text_of_state(ShardId shard) const;

  std::vector<Registers> shards_;
  std::map<std::uint64_t, Read> reads_;
  Answer answer_;
  PeerMessage on_peer_;
};

}  // namespace gcoord::cli
