// The requests that read locks: linearizable ones, and those that say how fresh their answer must
// be.
//
// Joins the two kinds of reads and the ages of replicas (lock_reads.h, replica_reads.h,
// replica_ages.h) to the log's confirmations. One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"
#include "server/reads/lock_reads.h"
#include "server/reads/replica_ages.h"
#include "server/reads/replica_reads.h"
#include "server/requests/client_request.h"
#include "server/requests/election_asks.h"
#include "server/requests/reply_writer.h"
#include "server/requests/service_clock.h"
#include "server/requests/service_log.h"
#include "server/requests/shard_leaders.h"
#include "server/waits/pending_table.h"
#include "server/waits/wait_table.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace gcoord::server {

class ReadRequests {
 public:
  struct Environment {
    ServiceLog& log;
    ReplyWriter& replies;
    const ShardLeaders& leaders;
    const locks::LockCpu& locks;
    const ServiceClock& clock;
    const WaitTable& waits;
    const TransferRequests& asks;
    // The log index that the shard's tables show.
    std::function<LogIndex(ShardId)> applied;
  };

  ReadRequests(std::uint32_t shard_count, MetricsRegistry& metrics, const Environment& environment);
  ReadRequests(const ReadRequests&) = delete;
  ReadRequests& operator=(const ReadRequests&) = delete;

  void start(ReplicatedLog& engine) { ages_.start(engine); }

  // LockCheck, LockCheckBatch, LockGet, LockList, ElectCandidates.
  void read(const ClientRequest& request);

  // LockRead, LockReadList.
  void read_replica(const ClientRequest& request);

  // One shard of a read, or of a question about an age, was confirmed, or could not be.
  void on_confirmed(const Pending& pending, const Status& status, NodeId leader_hint);

  // An entry of the shard was applied.
  void on_applied(ShardId shard) { replica_reads_.on_news(shard, env_.clock.now_us); }

  // A message of kReplicaAgesKind.
  void on_peer_message(NodeId from, std::span<const std::byte> message) {
    ages_.on_message(from, message);
  }

  void on_tick() { replica_reads_.on_tick(env_.clock.now_us); }

  // Once per pass: the questions about ages since the last pass leave together.
  void flush() { ages_.flush(env_.clock.now_us); }

  // Whether on_tick() is wanted with the next tick.
  bool waiting() const { return replica_reads_.waiting(); }

  std::size_t held_bytes() const { return reads_.held_bytes(); }

  // How old this node's replicas are, for whoever goes by one.
  ReplicaAges& ages() { return ages_; }

 private:
  LockReads::Environment read_doors();
  ReplicaAges::Environment age_doors();
  ReplicaReads::Environment replica_read_doors();

  Environment env_;
  LockReads reads_;
  ReplicaAges ages_;
  ReplicaReads replica_reads_;
};

}  // namespace gcoord::server
