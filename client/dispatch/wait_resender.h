// Resender of waits: acquires that wait and must be asked for anew go in the line of their shard,
// batch by batch, instead of each for itself (wait_lines.h, docs/adr/0059).
//
// Runs on the client's thread only.
#pragma once

#include "client/dispatch/operation.h"
#include "client/dispatch/wait_queues.h"
#include "client/net/backoff.h"
#include "client/net/leader_cache.h"
#include "client/nodes/node_set.h"

#include <cstdint>
#include <functional>

namespace gcoord::client {

class WaitResender {
 public:
  struct Environment {
    const ClientOptions& options;
    NodeSet& nodes;
    OperationTable& operations;
    LeaderCache& leaders;
    Backoff& backoff;
    ClientStatistics& statistics;
    std::function<void(std::uint64_t, Operation&)> send;
    std::function<void(OperationPtr)> submit;
  };

  explicit WaitResender(Environment environment);

  // To be sent again when its turn comes, which may be now.
  void join(std::uint64_t id, Operation& operation);

  // The same after a refusal: the line rests before it goes on.
  void join_refused(std::uint64_t id, Operation& operation, Status status);

  // Lines that are due go on.
  void advance(TimePoint now);

  TimePoint next_due() const { return lines_.next_due(); }

 private:
  void rest(WaitLine& line);
  void go_on(ShardId shard);
  Operation* in_line(std::uint64_t id, ShardId shard);
  void ask(ShardId shard, NodeId node);
  void on_answer(ShardId shard, const Answer& answer);

  Environment environment_;
  WaitLines lines_;
};

}  // namespace gcoord::client
