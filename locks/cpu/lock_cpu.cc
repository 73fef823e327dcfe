#include "locks/cpu/lock_cpu.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::locks {

LockCpu::LockCpu(const LockOptions& options) : shard_count_(options.shard_count), parts_(options) {}

LockReply LockCpu::apply(
    ShardId shard, LogIndex index, const LockCommand& command, Tick now, LockEvents& events) {
  const auto part = parts_.of(shard);
  const LockReply reply = part->apply({shard, index, now}, command, events);
  parts_.note_applied(part, shard, index);
  parts_.note_counts(part);
  return reply;
}

LockReply LockCpu::apply_bytes(
    ShardId shard, LogIndex index, std::span<const std::byte> bytes, Tick now, LockEvents& events) {
  const Result<LockCommand> command = decode(bytes);
  if (command.ok()) {
    return apply(shard, index, command.value(), now, events);
  }
  LockCommand unknown;
  unknown.kind = LockCommandKind::Unknown;
  return apply(shard, index, unknown, now, events);
}

void LockCpu::keep_group_reply(const GroupAnswer& answer) {
  parts_.of(answer.shard)->keep_group_reply(answer);
}

bool LockCpu::lives(ShardId shard, SessionId session) const {
  return parts_.of(shard)->lives(shard, session);
}

LockLimit LockCpu::would_exceed(ShardId shard, const LockCommand& command) const {
  return parts_.of(shard)->would_exceed(shard, command, parts_.counts());
}

// --- Reads

TokenVerdict LockCpu::check(const TokenCheck& request) const {
  return parts_.of(request.shard)->check(request);
}

std::optional<HeldLock> LockCpu::seen_from_outside(std::uint32_t number,
                                                   std::optional<HeldLock> lock) const {
  if (lock.has_value()) {
    lock->holder_row = parts_.outside(number, lock->holder_row);
  }
  return lock;
}

std::optional<HeldLock> LockCpu::get(ShardId shard, NameHash name) const {
  const auto part = parts_.of(shard);
  return seen_from_outside(part.number(), part->get(shard, name));
}

LockRow LockCpu::row_last() const {
  LockRow last;
  for (std::uint32_t number = 0; number < parts_.count(); ++number) {
    last = std::max(last, parts_.outside(number, parts_.at(number)->row_last()));
  }
  return last;
}

std::vector<QueuedWaiter> LockCpu::waiters(ShardId shard,
                                           NameHash name,
                                           std::uint32_t first_place,
                                           std::size_t limit) const {
  return parts_.of(shard)->waiters(shard, name, {first_place, limit});
}

bool LockCpu::registered(ShardId shard, SessionId session) const {
  return parts_.of(shard)->registered(shard, session);
}

bool LockCpu::knows_request(ShardId shard, SessionId session, RequestSequence sequence) const {
  return parts_.of(shard)->knows_request(shard, session, sequence);
}

bool LockCpu::stands_in_line(ShardId shard, const LockCommand& acquire) const {
  return parts_.of(shard)->stands_in_line(shard, acquire);
}

std::optional<NameResidence> LockCpu::residence(ShardId shard, NameHash name) const {
  return parts_.of(shard)->moved().residence(shard, name);
}

std::vector<DepartedLock> LockCpu::departed(ShardId shard) const {
  return parts_.of(shard)->moved().departed(shard);
}

std::vector<OrphanedWait> LockCpu::unclaimed(ShardId shard, NameHash name) const {
  return parts_.of(shard)->moved().unclaimed(shard, name);
}

std::vector<OrphanedWait> LockCpu::unclaimed(ShardId shard) const {
  return parts_.of(shard)->moved().unclaimed(shard);
}

bool LockCpu::still_unclaimed(ShardId shard, const OrphanedWait& place) const {
  return parts_.of(shard)->moved().still_unclaimed(shard, place);
}

std::vector<LostLock> LockCpu::losses(SessionId session) const {
  std::vector<LostLock> lost;
  for (std::uint32_t number = 0; number < parts_.count(); ++number) {
    parts_.at(number)->add_losses(session, lost);
  }
  return lost;
}

LockShardRow LockCpu::shard(ShardId shard) const {
  return parts_.of(shard)->shard(shard);
}

std::uint64_t LockCpu::state_hash(ShardId shard) const {
  return parts_.of(shard)->state_hash(shard);
}

SessionRow LockCpu::session_row_last() const {
  SessionRow last;
  for (std::uint32_t number = 0; number < parts_.count(); ++number) {
    const SessionRow fresh{parts_.at(number)->tables().sessions.window->fresh};
    last = std::max(last, parts_.outside(number, fresh));
  }
  return last;
}

SessionRecord LockCpu::session(SessionRow row) const {
  const auto part = parts_.of_row(row);
  const auto& sessions = part->tables().sessions;
  const SessionRow inside = parts_.inside(row);
  return inside.value <= sessions.window->fresh ? sessions[inside] : SessionRecord{};
}

const LockTables& LockCpu::tables() const {
  GCOORD_ASSERT(parts_.only() != nullptr);
  return parts_.only()->tables();
}

LockStill::LockStill(const LockCpu& locks) {
  const LockParts& parts = locks.parts_;
  for (std::uint32_t number = 0; parts.only() == nullptr && number < parts.count(); ++number) {
    parts_.push_back(parts.at(number));
  }
}

// --- Whole states

std::vector<std::byte> LockCpu::serialize(ShardId shard) const {
  return parts_.of(shard)->serialize(shard);
}

Status LockCpu::deserialize(ShardId shard, std::span<const std::byte> bytes, Tick now) {
  const auto part = parts_.of(shard);
  const Status status = part->deserialize(shard, bytes, now);
  parts_.note_applied(part, shard, LogIndex{});
  parts_.note_counts(part);
  return status;
}

void LockCpu::drop(ShardId shard) {
  const auto part = parts_.of(shard);
  part->drop(shard);
  parts_.note_applied(part, shard, LogIndex{});
  parts_.note_counts(part);
}

void LockCpu::settle_move(ShardId shard, const MoveFix& fix) {
  const auto part = parts_.of(shard);
  part->settle_move(shard, fix);
  parts_.note_counts(part);
}

// --- Leadership

void LockCpu::on_became_leader(ShardId shard, Tick now, std::uint64_t election_ticks) {
  parts_.of(shard)->on_became_leader(shard, now, election_ticks);
}

void LockCpu::on_lost_leadership(ShardId shard) {
  parts_.of(shard)->on_lost_leadership(shard);
}

// --- What there is

LockUsage LockCpu::usage() const {
  LockUsage all;
  for (std::uint32_t number = 0; number < parts_.count(); ++number) {
    const LockUsage one = parts_.at(number)->usage();
    all.locks += one.locks;
    all.waiters += one.waiters;
    all.sessions += one.sessions;
    all.requests += one.requests;
    all.name_blocks += one.name_blocks;
    all.memory_bytes += one.memory_bytes;
  }
  return all;
}

LockOccupancy LockCpu::occupancy() const {
  LockOccupancy all;
  for (std::uint32_t number = 0; number < parts_.count(); ++number) {
    const LockOccupancy one = parts_.at(number)->occupancy();
    all.locks += one.locks;
    all.sessions += one.sessions;
  }
  return all;
}

std::uint64_t LockCpu::unknown_command_count() const {
  std::uint64_t count = 0;
  for (std::uint32_t number = 0; number < parts_.count(); ++number) {
    count += parts_.at(number)->unknown_command_count();
  }
  return count;
}

LockOccupancy LockCpu::occupancy(ShardId shard) const {
  return parts_.of(shard)->occupancy(shard);
}

}  // namespace gcoord::locks
