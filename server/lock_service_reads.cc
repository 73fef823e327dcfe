// Reads of replicas in the lock service: between the engine's confirmations and who waits for them.
#include "server/lock_service.h"

namespace gcoord::server {

// Where the shard's applied state stands: what this service was told, or the engine's word for a
// state that came whole.
LogIndex LockService::applied_at(ShardId shard) const {
  const LogIndex told{applied_[shard.value]};
  return told.value != 0 ? told : engine_->view(shard).applied;
}

void LockService::confirm(ShardId shard, PendingKind kind, std::uint64_t group, ReadWay way) {
  Pending pending;
  pending.kind = kind;
  pending.group = group;
  pending.request.shard = shard.value;
  const std::uint64_t cookie = pending_.add(pending);
  if (way == ReadWay::Round) {
    engine_->read_by_round(shard, cookie);
  } else {
    engine_->read(shard, cookie);
  }
}

ReplicaAges LockService::make_ages(MetricsRegistry& metrics) {
  return ReplicaAges(options_.limits.shard_count,
                     metrics,
                     {.applied = [this](ShardId shard) { return applied_at(shard); },
                      .leads = [this](ShardId shard) { return leads(shard); },
                      .confirm =
                          [this](ShardId shard, std::uint64_t number) {
                            confirm(shard, PendingKind::AgeQuestion, number, ReadWay::Lease);
                          },
                      .on_proof =
                          [this](ShardId shard, LogIndex, std::uint64_t) {
                            replica_reads_.on_news(shard, now_us_);
                          }});
}

ReplicaReads LockService::make_replica_reads() {
  return ReplicaReads(
      options_.limits.shard_count,
      locks_,
      ages_,
      {.confirm = [this](ShardId shard,
                         std::uint64_t group,
                         ReadWay way) { confirm(shard, PendingKind::ReplicaRead, group, way); },
       .leads = [this](ShardId shard) { return leads(shard); },
       .leader_hint = [this](ShardId shard) { return engine_->view(shard).leader; },
       .applied = [this](ShardId shard) { return applied_at(shard); },
       .describe =
           [this](const locks::HeldLock& lock) { return reads_.describe(lock, false, now_); },
       .answer = [this](ConnectionId connection,
                        const rpc::ReplySlot& reply,
                        auto payload) { send(connection, reply, payload); }});
}

// The engine's word on a read that is not one of lock_reads.h.
void LockService::on_read_of_replicas(const Pending& pending,
                                      const Status& status,
                                      NodeId leader_hint) {
  const ShardId shard{pending.request.shard};
  switch (pending.kind) {
    case PendingKind::ReplicaRead:
      return replica_reads_.on_confirmed(pending.group, shard, status, leader_hint, now_us_);
    case PendingKind::AgeQuestion:
      return ages_.on_confirmed(pending.group, shard, status);
    case PendingKind::SessionLook:
      return finish_session_show(pending, status, leader_hint);
    default:
      break;
  }
  GCOORD_ASSERT(false);
}

}  // namespace gcoord::server
