// Reads in the lock service, and those of replicas: between the engine's confirmations and who
// waits for them.
#include "server/lock_service.h"

#include <algorithm>

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

LockReads::Doors LockService::read_doors() {
  return {.ask = [this](ShardId shard,
                        std::uint64_t group,
                        ReadWay way) { confirm(shard, PendingKind::Read, group, way); },
          .leads = [this](ShardId shard) { return leads(shard); },
          .leader_hint = [this](ShardId shard) { return engine_->view(shard).leader; },
          .term = [this](ShardId shard) { return engine_->view(shard).term; },
          .waited_ms =
              [this](ShardId shard, SessionId session, RequestSequence sequence) {
                const auto started = waits_.started_us({shard, session, sequence});
                return static_cast<std::uint32_t>((now_us_ - started.value_or(now_us_)) / 1000);
              },
          .wanted = [this](NameHash name,
                           FencingToken epoch) { return election_asks_.wanted(name, epoch, now_); },
          .answer = [this](ConnectionId connection,
                           const rpc::ReplySlot& reply,
                           auto payload) { send(connection, reply, payload); }};
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
    case PendingKind::PastRead:
      return confirmed_sink_(pending.group, status, leader_hint);
    default:
      break;
  }
  GCOORD_ASSERT(false);
}

void LockService::on_shard_range(ConnectionId connection,
                                 const rpc::RequestSlot& request,
                                 std::span<const std::byte> payload) {
  const auto decoded = rpc::decode_shard_range(payload);
  const std::uint32_t shard_count = options_.limits.shard_count;
  if (!decoded.ok() || decoded.value().first.value >= shard_count) {
    return send_error(
        connection,
        request,
        decoded.ok() ? rpc::ErrorCode::ShardOutOfRange : rpc::ErrorCode::PayloadMalformed);
  }
  rpc::ShardRange range = decoded.value();
  range.count = std::min(range.count, shard_count - range.first.value);
  if (request.kind == rpc::RequestKind::ShardList) {
    const std::string json = reports_->shard_list(range);
    return send(connection, rpc::reply_to(request), rpc::bytes_of(json));
  }
  rpc::LeaderMap map{range.first, {}};
  map.leaders.reserve(range.count);
  for (std::uint32_t offset = 0; offset < range.count; ++offset) {
    map.leaders.push_back(engine_->view(range.first + offset).leader);
  }
  send(connection, rpc::reply_to(request), rpc::encode_leader_map(map));
}

}  // namespace gcoord::server
