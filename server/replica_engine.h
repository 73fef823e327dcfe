// The consensus side of a node: all shard replicas, their storage and their messages, in one loop.
//
// A turn is poll -> step -> persist -> send -> apply (docs/internals/architecture.md). It takes
// whatever is queued, never blocks and never waits to fill a batch. All shards' writes of a turn
// are one record of the log of record; all messages of a turn to one peer are one send. Disk writes
// run on two threads inside (ledger/wal_writer.h, ledger/checkpointer.h), seen here only as
// eventfds.
//
//   loop: if turn() did nothing and arm() is true, sleep on event_fds() for at most
//         until_next_deadline(); then turn() again.
//
// Requests that came in before turn() are served in it, under a clock read after they came: so a
// read that a lease answers was asked before the lease was looked at.
//
// Everything is for one thread, the one that calls turn(). Host only; no exceptions.
#pragma once

#include "common/ids.h"
#include "common/metrics.h"
#include "common/status.h"
#include "ledger/checkpoint_store.h"
#include "server/engine_errors.h"
#include "server/engine_options.h"
#include "server/engine_view.h"
#include "server/service.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

class ReplicaEngine {
 public:
  // Locks and reads the data directory, installs checkpoints into the service, replays the log of
  // record and listens for peers. Failures carry a message for the operator: the ledger's (a
  // directory in use, of another node, or rotten: such a node must not vote), the network's, or
  // kEngineOptions and its neighbours (engine_errors.h). service and metrics outlive the engine.
  static Result<std::unique_ptr<ReplicaEngine>> open(EngineOptions options,
                                                     Service& service,
                                                     MetricsRegistry& metrics);

  // Persists what was submitted and joins the threads. Nothing is told to the service any more.
  ~ReplicaEngine();
  ReplicaEngine(const ReplicaEngine&) = delete;
  ReplicaEngine& operator=(const ReplicaEngine&) = delete;

  // Asks for a place in the shard's log; taken in the next turn, in the order of the calls. The
  // bytes are copied, at most kCommandBytesMax; the cookie is not 0. The outcome comes by
  // Service::apply or Service::on_proposal_failed.
  void propose(ShardId shard, std::span<const std::byte> command, std::uint64_t cookie);

  // Asks for a moment at which the shard's applied state is linearizable; answered by
  // Service::on_read in the next turn under a lease, else when a quorum has confirmed leadership.
  void read(ShardId shard, std::uint64_t cookie);

  // The same, but a quorum confirms leadership whatever the lease says.
  void read_by_round(ShardId shard, std::uint64_t cookie);

  // One turn. Returns how much was done (rows stepped, entries applied, answers given); 0 means
  // that sleeping is in order. Does nothing once failure() is set.
  std::size_t turn();

  // Prepares event_fds() for sleeping. False: there is work now, call turn().
  bool arm();
  // Readable when there is work, once arm() returned true. Never read or closed by the caller; the
  // same for the life of the engine.
  std::vector<int> event_fds() const;
  // How long the caller may sleep from now; 0 when something is due.
  std::chrono::milliseconds until_next_deadline() const;

  // The tick of the last turn.
  Tick now() const;
  // Length of a tick.
  std::chrono::milliseconds tick_length() const;
  // This life of the node; part of session ids.
  Incarnation incarnation() const;
  // The port that peers reach this node at.
  std::uint16_t listen_port() const;

  ShardView view(ShardId shard) const;
  NodeView view() const;

  // Hands the shard's leadership to a voter, if it leads; best effort, seen by Service::on_role.
  void transfer(ShardId shard, NodeId to);

  // Sends bytes to the service of another node (Service::on_peer_message there): one slot of the
  // Rpc band with one extent of 1 to 32 KiB. Loss is allowed: false when the peer is not connected
  // or has no credit.
  bool send_peer_message(NodeId to, std::span<const std::byte> message);

  // Gives back memory that a burst of work made grow, if there is none now. True if it was much.
  bool shrink();

  // Starts a checkpoint of all changed shards at the next turn, or right after the one under way.
  // Returns its number; checkpoint_outcome tells how that one ended, once it has.
  std::uint64_t request_checkpoint();
  std::optional<Status> checkpoint_outcome(std::uint64_t number) const;

  // What the checkpoints wrote. Any thread may read it while the engine lives.
  const ledger::CheckpointStore& checkpoints() const;

  // With ledger::StorageDriver::Owner: does what the disk threads would do next. False: nothing to
  // do. storage_queued tells whether a write waits (the seal of an idle log does not count).
  bool advance_storage();
  bool storage_queued() const;

  // Why the engine stopped for good (a failed write or sync, a refused state); OK while it runs.
  // After a failure nothing is acknowledged or sent any more: the process prints this and exits.
  Status failure() const;

 private:
  class Core;
  explicit ReplicaEngine(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace gcoord::server
