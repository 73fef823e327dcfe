// Takes operations to a node that can answer them, and takes them there again until one does.
//
// Where: the leader of the shard as far as known, else any node, which names the leader it knows;
// none whose circuit breaker is open, except who asks one node by name. While all are open an
// operation is parked until a probe is due, or fails at once (ClientOptions::fail_fast).
// Again: after a lost connection at once, elsewhere; after "no leader" or "too busy" with back-off;
// always with the same (session, sequence), so that it is executed once. Acquires that wait go
// again in a line for each shard instead, batch by batch (wait_resender.h). Until: the deadline, at
// which the caller learns the last cause; an acquire that was given up is withdrawn
// (withdrawals.h).
//
// Runs on the client's thread only. Callbacks may submit more.
#pragma once

#include "client/dispatch/lock_places.h"
#include "client/dispatch/operation.h"
#include "client/dispatch/wait_resender.h"
#include "client/dispatch/withdrawals.h"
#include "client/net/backoff.h"
#include "client/net/leader_cache.h"
#include "client/nodes/node_set.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>

namespace gcoord::client {

class Dispatcher {
 public:
  // A shard said that the session is over.
  using SessionLost = std::function<void(const std::shared_ptr<SessionRecord>&)>;

  Dispatcher(const ClientOptions& options, NodeSet& nodes, SessionLost on_session_lost);

  void submit(OperationPtr operation);

  // From the node set.
  void on_ready(NodeId node);
  void on_lost(NodeId node, const std::string& reason);
  void on_failed(NodeId node);
  void on_reply(NodeId node, const protocol::ReplySlot& slot, std::span<const std::byte> payload);

  // Deadlines, retries, silent nodes. Call when next_event() has come.
  void advance(TimePoint now);

  TimePoint next_event() const { return std::min(next_event_, lines_.next_due()); }

  // Shards where the session may yet be granted something: an acquire was sent there, or the cancel
  // of one.
  std::set<std::uint32_t> acquiring_shards(const SessionRecord& session);

  // The same of every session that has such shards.
  std::map<const SessionRecord*, std::set<std::uint32_t>> acquiring_shards();

  // Ends an acquire that its caller does not want any more with GC6006 and takes it back; nothing
  // when it has ended.
  void stop_wait(std::uint64_t id);

  // Every operation of the session ends with this error; an acquire whose session ran out because
  // no quorum could be reached ends with NoLeader.
  void fail_session(const SessionRecord& session, protocol::ErrorCode code);

  // Every operation ends; those that give something back may be spared for a last try.
  enum class Spare : std::uint8_t { Nothing, Releases };
  void fail_all(protocol::ErrorCode code, Spare spare);

  LeaderCache& leaders() { return leaders_; }

  std::size_t outstanding_count() const { return operations_.size(); }

  const ClientStatistics& statistics() const { return statistics_; }

 private:
  void begin(std::uint64_t id, Operation& operation);
  void send(std::uint64_t id, Operation& operation);
  NodeId choose(const Operation& operation);
  protocol::RequestSlot slot_to_send(std::uint64_t id,
                                     const Operation& operation,
                                     TimePoint now) const;
  void take_reply(NodeId node,
                  Operation& operation,
                  const protocol::ReplySlot& slot,
                  std::span<const std::byte> payload);
  void park(std::uint64_t id, Operation& operation);
  bool fails_fast(const Operation& operation) const;
  void on_failure(std::uint64_t id,
                  Operation& operation,
                  const protocol::ReplySlot& slot,
                  Status status);
  void go_to(Operation& operation, ShardId shard);
  void ask_anew(std::uint64_t id, Operation& operation, Status status);
  void follow(std::uint64_t id, Operation& operation, ShardId to, Status status);
  void redirect(std::uint64_t id, Operation& operation, NodeId leader, Status status);
  void retry(std::uint64_t id, Operation& operation, Status status);
  // In a back-off: at least so long. A node that limits requests knows when there is room again.
  void rest_as_long_as_said(Operation& operation, std::uint64_t wait_ms);
  void resume(std::uint64_t id, Operation& operation);
  void send_anew(std::uint64_t id, Operation& operation);
  void stand_in_line(std::uint64_t id, Operation& operation);
  void rest_in_line(std::uint64_t id, Operation& operation, Status status);
  void renumber(std::uint64_t id, Operation& operation, Status status);
  void on_deadline(std::uint64_t id, Operation& operation);
  void give_up(std::uint64_t id, Operation& operation, Status why);
  void look_at_node(Operation& operation, TimePoint now);
  Status why_late(const Operation& operation) const;
  Status why_ended(const Operation& operation, protocol::ErrorCode code) const;
  Status why_no_leader(const Operation& operation) const;
  void complete(std::uint64_t id, const Answer& answer);
  void fail(std::uint64_t id, Status status);
  void end_number(SessionRecord& session, std::uint32_t shard, std::uint64_t sequence);

  void schedule(const Operation& operation) {
    next_event_ = std::min(next_event_, operation.due());
  }

  const ClientOptions& options_;
  NodeSet& nodes_;
  SessionLost on_session_lost_;
  OperationTable operations_;
  LeaderCache leaders_;
  Backoff backoff_;
  ClientStatistics statistics_;
  LockPlaces places_;
  Withdrawals withdrawals_;
  WaitResender lines_;
  TimePoint next_event_ = kTimeNever;
};

}  // namespace gcoord::client
