#include "server/requests/service_log.h"

namespace gcoord::server {

bool ServiceLog::keeps_bytes() {
  if (!keeps_bytes_.has_value()) {
    keeps_bytes_ = engine_->abilities().keeps_bytes;
  }
  return *keeps_bytes_;
}

// None where nobody would read them.
std::span<const std::byte> ServiceLog::bytes_of(const locks::LockCommand& command,
                                                const Pending& pending) {
  command_.clear();
  if (keeps_bytes()) {
    put_record_header(command_, header_of(pending));
    locks::encode(command, command_);
  }
  return command_;
}

// Says who asks and when beside the command where no bytes say it.
ProposedCommand ServiceLog::proposed_of(const locks::LockCommand& command, const Pending& pending) {
  ProposedCommand proposed{bytes_of(command, pending), &command};
  if (!keeps_bytes()) {
    const RecordHeader header = header_of(pending);
    proposed.stamp = {header.origin, header.time_ms};
  }
  return proposed;
}

void ServiceLog::propose(ShardId shard, const locks::LockCommand& command, const Pending& pending) {
  const ProposedCommand proposed = proposed_of(command, pending);
  engine_->propose(shard, proposed, env_.pending.add(pending));
}

void ServiceLog::propose_for(const ClientRequest& request,
                             ShardId shard,
                             const locks::LockCommand& command,
                             const Pending& pending) {
  ProposedCommand proposed = proposed_of(command, pending);
  proposed.entries = request.entries();
  proposed.authority = request.authority;
  env_.metrics.ingress[static_cast<std::size_t>(request.way())]->add();
  engine_->propose(shard, proposed, env_.pending.add(pending));
}

void ServiceLog::confirm(ShardId shard, const Pending& pending, ReadMode way) {
  const std::uint64_t cookie = env_.pending.add(pending);
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
          asked ? env_.replies.origin(pending.connection) : protocol::RecordOrigin::System,
          env_.wall_ms ? env_.wall_ms() : 0};
}

}  // namespace gcoord::server
