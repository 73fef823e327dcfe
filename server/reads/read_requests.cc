#include "server/reads/read_requests.h"

namespace gcoord::server {

ReadRequests::ReadRequests(std::uint32_t shard_count,
                           MetricsRegistry& metrics,
                           const Environment& environment)
    : env_(environment),
      reads_({shard_count,
              environment.clock,
              [this](protocol::ConnectionId connection, std::string_view name) {
                return env_.replies.lists(connection, name);
              }},
             environment.locks,
             read_doors()),
      ages_(shard_count, metrics, age_doors()),
      replica_reads_(shard_count, environment.locks, ages_, replica_read_doors()) {}

void ReadRequests::read(const ClientRequest& request) {
  reads_.start(request.connection, request.slot, request.payload);
}

void ReadRequests::read_replica(const ClientRequest& request) {
  replica_reads_.start(request.connection, request.slot, request.payload, env_.clock.now_us);
}

void ReadRequests::on_confirmed(const Pending& pending, const Status& status, NodeId leader_hint) {
  const ShardId shard{pending.request.shard};
  if (pending.kind == PendingKind::AgeQuestion) {
    return ages_.on_confirmed(pending.group, shard, status);
  }
  if (pending.kind == PendingKind::ReplicaRead) {
    return replica_reads_.on_confirmed(
        pending.group, shard, status, leader_hint, env_.clock.now_us);
  }
  GCOORD_ASSERT(pending.kind == PendingKind::Read);
  reads_.on_confirmed(pending.group, shard, status, leader_hint);
}

LockReads::Environment ReadRequests::read_doors() {
  return {.ask = [this](ShardId shard,
                        std::uint64_t group,
                        ReadMode way) { env_.log.confirm(shard, PendingKind::Read, group, way); },
          .leads = [this](ShardId shard) { return env_.leaders.leads(shard); },
          .leader_hint = [this](ShardId shard) { return env_.leaders.leader(shard); },
          .term = [this](ShardId shard) { return env_.log.view(shard).term; },
          .waited_ms =
              [this](ShardId shard, SessionId session, RequestSequence sequence) {
                const std::uint64_t now_us = env_.clock.now_us;
                const auto started = env_.waits.started_us({shard, session, sequence});
                return static_cast<std::uint32_t>((now_us - started.value_or(now_us)) / 1000);
              },
          .wanted =
              [this](NameHash name, FencingToken epoch) {
                return env_.asks.wanted(name, epoch, env_.clock.now);
              },
          .answer = [this](protocol::ConnectionId connection,
                           const protocol::ReplySlot& reply,
                           auto payload) { env_.replies.send(connection, reply, payload); },
          .slow = env_.replies.slow()};
}

ReplicaAges::Environment ReadRequests::age_doors() {
  return {.applied = env_.applied,
          .leads = [this](ShardId shard) { return env_.leaders.leads(shard); },
          .confirm =
              [this](ShardId shard, std::uint64_t number) {
                env_.log.confirm(shard, PendingKind::AgeQuestion, number, ReadMode::Lease);
              },
          .on_proof = [this](ShardId shard, LogIndex, std::uint64_t) { on_applied(shard); }};
}

ReplicaReads::Environment ReadRequests::replica_read_doors() {
  return {.confirm =
              [this](ShardId shard, std::uint64_t group, ReadMode way) {
                env_.log.confirm(shard, PendingKind::ReplicaRead, group, way);
              },
          .leads = [this](ShardId shard) { return env_.leaders.leads(shard); },
          .leader_hint = [this](ShardId shard) { return env_.leaders.leader(shard); },
          .applied = env_.applied,
          .describe = [this](const locks::HeldLock& lock) { return reads_.describe(lock, false); },
          .lists = [this](protocol::ConnectionId connection,
                          std::string_view name) { return env_.replies.lists(connection, name); },
          .answer = [this](protocol::ConnectionId connection,
                           const protocol::ReplySlot& reply,
                           auto payload) { env_.replies.send(connection, reply, payload); }};
}

}  // namespace gcoord::server
