// The lock service's access to the replicated log: proposals and reads, each with its pending
// entry.
//
// A proposal is a command behind the header that says who asked for it and when (log_record.h).
// The cookie of the pending entry comes back once, through Service::apply, on_proposal_failed or
// on_read. The engine is bound when it is open; before that nothing is proposed and nothing is
// asked of it. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "locks/commands/command.h"
#include "protocol/reply_sink.h"
#include "server/interfaces/log_record.h"
#include "server/interfaces/replicated_log.h"
#include "server/replicas/reads.h"
#include "server/waits/pending_table.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

class ServiceLog {
 public:
  // Unix milliseconds, for the records in the log; empty: they say no time.
  using WallClock = std::function<std::uint64_t()>;

  // `replies` knows where the clients of pending requests are connected from.
  ServiceLog(PendingTable& pending, const protocol::ReplySink& replies, WallClock wall_ms)
      : pending_(pending), replies_(replies), wall_ms_(std::move(wall_ms)) {}

  void bind(ReplicatedLog& engine) { engine_ = &engine; }

  bool bound() const { return engine_ != nullptr; }

  void propose(ShardId shard, const locks::LockCommand& command, const Pending& pending);

  // Asks for a confirmation that this node leads the shard.
  void confirm(ShardId shard, const Pending& pending, ReadMode way);

  // The same for number `group` of the owner of this kind.
  void confirm(ShardId shard, PendingKind kind, std::uint64_t group, ReadMode way);

  // The engine's own words (replica_port.h).
  bool takes(const locks::LockCommand& command) const { return engine_->takes(command); }

  Abilities abilities() const { return engine_->abilities(); }

  ShardView view(ShardId shard) const { return engine_->view(shard); }

  NodeView view() const { return engine_->view(); }

  void note_gap() { engine_->note_gap(); }

  void send(NodeId to, std::span<const std::byte> message) {
    engine_->send_peer_message(to, message);
  }

 private:
  RecordHeader header_of(const Pending& pending) const;

  PendingTable& pending_;
  const protocol::ReplySink& replies_;
  WallClock wall_ms_;
  ReplicatedLog* engine_ = nullptr;
  std::vector<std::byte> command_;  // Scratch for encoding.
};

}  // namespace gcoord::server
