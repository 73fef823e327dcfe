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
#include "server/requests/client_request.h"
#include "server/requests/service_metrics.h"
#include "server/waits/pending_table.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

class ServiceLog {
 public:
  // Unix milliseconds, for the records in the log; empty: they say no time.
  using WallClock = std::function<std::uint64_t()>;

  struct Environment {
    PendingTable& pending;
    const protocol::ReplySink& replies;  // Knows where clients are connected from.
    const LockServiceMetrics& metrics;   // Counts by which way their commands came.
    WallClock wall_ms;
  };

  // All outlive it.
  explicit ServiceLog(Environment environment) : env_(std::move(environment)) {}

  void bind(ReplicatedLog& engine) { engine_ = &engine; }

  bool bound() const { return engine_ != nullptr; }

  void propose(ShardId shard, const locks::LockCommand& command, const Pending& pending);

  // The same for a client's request, under its authority and with the entries of the command that
  // were made beforehand, if any.
  void propose_for(const ClientRequest& request,
                   ShardId shard,
                   const locks::LockCommand& command,
                   const Pending& pending);

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
  bool keeps_bytes();
  std::span<const std::byte> bytes_of(const locks::LockCommand& command, const Pending& pending);
  ProposedCommand proposed_of(const locks::LockCommand& command, const Pending& pending);

  Environment env_;
  ReplicatedLog* engine_ = nullptr;
  std::optional<bool> keeps_bytes_;  // As the engine says, once.
  std::vector<std::byte> command_;   // Scratch for encoding.
};

}  // namespace gcoord::server
