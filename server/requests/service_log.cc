#include "server/requests/service_log.h"

namespace gcoord::server {

void ServiceLog::propose(ShardId shard, const locks::LockCommand& command, const Pending& pending) {
  command_.clear();
  put_record_header(command_, header_of(pending));
  locks::encode(command, command_);
  engine_->propose(shard, {command_, &command}, pending_.add(pending));
}

void ServiceLog::confirm(ShardId shard, const Pending& pending, ReadMode way) {
  const std::uint64_t cookie = pending_.add(pending);
  if (way == ReadMode::Round) {
    engine_->read_by_round(shard, cookie);
  } else {
    engine_->read(shard, cookie);
  }
}

void ServiceLog::confirm(ShardId shard, PendingKind kind, std::uint64_t group, ReadMode way) {
  Pending pending;
  pending.kind = kind;
  pending.group = group;
  pending.request.shard = shard.value;
  confirm(shard, pending, way);
}

RecordHeader ServiceLog::header_of(const Pending& pending) const {
  const bool moved =
      pending.kind == PendingKind::Move && pending.connection != protocol::ConnectionId{};
  const bool asked =
      pending.kind == PendingKind::Request || pending.kind == PendingKind::Close || moved;
  return {RecordKind::LockCommand,
          asked ? replies_.origin(pending.connection) : protocol::RecordOrigin::System,
          wall_ms_ ? wall_ms_() : 0};
}

}  // namespace gcoord::server
