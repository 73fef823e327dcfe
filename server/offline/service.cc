#include "server/offline/service.h"

#include "locks/snapshot/snapshot.h"
#include "server/interfaces/log_record.h"

#include <algorithm>

namespace gcoord::server {
namespace {

// Clocks do not run here, and are no part of a state.
constexpr Tick kNow{1};

locks::LockOptions lock_options(std::uint32_t shard_count) {
  locks::LockOptions options;
  options.shard_count = shard_count;
  return options;
}

}  // namespace

OfflineService::OfflineService(std::uint32_t shard_count)
    : locks_(lock_options(shard_count)),
      groups_(shard_count, 0),
      machine_({.groups = groups_, .rendezvous = rendezvous_, .locks = locks_}),
      events_(locks::kLockEventsPerCommandMax) {}

void OfflineService::apply(const AppliedEntry& entry) {
  const auto header = decode_record_header(entry.payload);
  if (entry.kind != consensus::EntryKind::Command || !header) {
    return;
  }
  newest_ms_ = std::max(newest_ms_, header->time_ms);
  if (header->kind != RecordKind::LockCommand) {
    return;
  }
  locks::LockCommand command{.kind = locks::LockCommandKind::Unknown};
  if (const auto decoded = locks::decode(record_body(entry.payload)); decoded.ok()) {
    command = decoded.value();
  }
  locks::LockEvents events{events_.data(), static_cast<std::uint32_t>(events_.size()), 0};
  locks::LockReply reply = locks_.apply(entry.shard, entry.index, command, kNow, events);
  machine_.apply(entry.shard, command, reply);
}

void OfflineService::serialize(ShardId shard, std::vector<std::byte>& bytes) {
  machine_.serialize(shard, bytes);
  const std::vector<std::byte> state = locks_.serialize(shard);
  bytes.insert(bytes.end(), state.begin(), state.end());
}

Status OfflineService::install(ShardId shard, std::span<const std::byte> bytes) {
  std::span<const std::byte> locks;
  GCOORD_TRY_STATUS(machine_.install(shard, bytes, locks));
  if (locks.empty()) {
    locks_.drop(shard);
    return Status{};
  }
  return locks_.deserialize(shard, locks, kNow);
}

bool OfflineService::plausible(ShardId, std::span<const std::byte> bytes) const {
  std::span<const std::byte> locks;
  return GroupMachine::plausible(bytes, locks) &&
         (locks.empty() || locks::parse_snapshot(locks).ok());
}

void OfflineService::on_proposal_failed(std::uint64_t, const Status&, NodeId) {}

void OfflineService::on_read(std::uint64_t, const Status&, NodeId) {}

void OfflineService::on_role(ShardId, consensus::Role, Term, NodeId) {}

void OfflineService::on_loop_gap(std::uint64_t) {}

}  // namespace gcoord::server
