#include "locks/cpu/part.h"

#include "locks/commands/ends.h"
#include "locks/cpu/move_settle.h"
#include "locks/snapshot/snapshot.h"
#include "locks/state/apply.h"
#include "locks/state/session_prefetch.h"

#include <algorithm>
#include <utility>

namespace gcoord::locks {

LockPart::LockPart(const LockOptions& options, std::shared_ptr<sessions::OverSessions> over)
    : options_(options),
      pools_({.shard_count = options.shard_count,
              .index_seed = options.index_seed,
              .group_answers_apart = options.group_answers_apart}),
      times_(pools_.tables(), {options.clock, std::move(over)}, pools_.shard_bits()) {
  const std::uint32_t rows = std::max(options.rows_initial, 1u);
  reserve({.locks = rows, .sessions = rows, .requests = rows, .name_blocks = rows});
}

void LockPart::reserve(const LockDemand& demand) {
  if (pools_.reserve(demand)) {
    clock().reserve(tables().sessions.capacity);
  }
}

LockReply LockPart::apply(const Place& place, const LockCommand& command, LockEvents& events) {
  const ShardId shard = place.shard;
  if (command.kind == LockCommandKind::ExpireSessions) {
    EndsPrefetch ahead{tables(), clock().columns(), shard, command};
    return apply_ends(command, events, [&](const LockCommand& end, std::uint32_t i) {
      ahead.before(i);
      return apply(place, end, events);
    });
  }
  reserve(demand_of(command));
  const LockTimes::Expected expected = times_.before(shard, command);
  const std::uint64_t others = lock_count_ - tables().shard(shard).lock_count;
  const LockReply reply = locks::apply(tables(), shard, place.index, command, events);
  lock_count_ = others + tables().shard(shard).lock_count;
  if (command.kind == LockCommandKind::MoveOut || command.kind == LockCommandKind::MoveIn) {
    shards_of_moves_.insert(shard.value);
  }
  unknown_command_count_ += reply.code == LockCode::UnknownCommand ? 1 : 0;
  times_.after({shard, command, reply}, expected, place.now);
  return reply;
}

void LockPart::keep_group_reply(const GroupAnswer& answer) {
  const SessionRow session = find_session(tables(), answer.shard, answer.session);
  GCOORD_ASSERT(session.value != 0);
  const RequestRow row = find_request(tables(), tables().sessions[session], answer.sequence);
  GCOORD_ASSERT(row.value != 0 && tables().requests[row].code == LockCode::GroupTaken);
  tables().requests[row].token = answer.token;
  tables().requests[row].holder = answer.holder;
}

bool LockPart::lives(ShardId shard, SessionId session) const {
  const SessionRow row = find_session(tables(), shard, session);
  return row.value != 0 && tables().sessions[row].phase == SessionPhase::Live;
}

LockLimit LockPart::would_exceed(ShardId shard,
                                 const LockCommand& command,
                                 const LockCounts& all) const {
  const bool registers =
      command.kind == LockCommandKind::RegisterSession || (command.flags & kAcquireRegister) != 0;
  const bool sessions_full = all.sessions >= options_.limits.sessions_max;
  if (registers && sessions_full && !registered(shard, command.session)) {
    return LockLimit::Sessions;
  }
  if (command.kind == LockCommandKind::GroupRequest) {
    const bool full = all.requests >= options_.limits.requests_max;
    return full && !knows_request(shard, command.session, command.sequence) ? LockLimit::Requests
                                                                            : LockLimit::None;
  }
  if (command.kind != LockCommandKind::Acquire) {
    return LockLimit::None;
  }
  const bool held = find_lock(tables(), shard, command.name_hash).value != 0;
  const bool waits = held && (command.flags & kAcquireWait) != 0;
  LockLimit limit = LockLimit::None;
  const bool takes_row = !held || (command.hold_flags & kHoldShared) != 0;
  if (takes_row && all.locks >= options_.limits.locks_max) {
    limit = LockLimit::Locks;
  } else if (waits && all.waiters >= options_.limits.waiters_max) {
    limit = LockLimit::Waiters;
  } else if (all.requests >= options_.limits.requests_max) {
    limit = LockLimit::Requests;
  }
  // Looked at last, because hardly ever is anything full.
  return limit != LockLimit::None && knows_request(shard, command.session, command.sequence)
             ? LockLimit::None
             : limit;
}

std::vector<std::byte> LockPart::serialize(ShardId shard) const {
  return write_snapshot(tables(), shard);
}

Status LockPart::deserialize(ShardId shard, std::span<const std::byte> bytes, Tick now) {
  drop(shard);
  GCOORD_TRY(const LockSnapshot snapshot, parse_snapshot(bytes));
  reserve(demand_of(snapshot));
  install_snapshot(tables(), shard, snapshot);
  times_.on_restored(shard, now);
  lock_count_ += tables().shard(shard).lock_count;
  if (MovedLocks(tables()).kept(shard).sessions != 0) {
    shards_of_moves_.insert(shard.value);
  }
  return {};
}

void LockPart::drop(ShardId shard) {
  times_.drop(shard);
  lock_count_ -= tables().shard(shard).lock_count;
  drop_shard(tables(), shard);
  shards_of_moves_.erase(shard.value);
}

void LockPart::settle_move(ShardId shard, const MoveFix& fix) {
  reserve(demand_of(fix));
  const std::uint64_t others = lock_count_ - tables().shard(shard).lock_count;
  locks::settle_move(tables(), shard, fix);
  lock_count_ = others + tables().shard(shard).lock_count;
  shards_of_moves_.insert(shard.value);
}

LockOccupancy LockPart::occupancy() const {
  LockOccupancy all{.locks = lock_count_, .sessions = usage().sessions};
  for (const std::uint32_t moves : shards_of_moves_) {
    const KeptRows kept = MovedLocks(tables()).kept(ShardId{moves});
    all.locks -= kept.locks;
    all.sessions -= kept.sessions;
  }
  return all;
}

LockOccupancy LockPart::occupancy(ShardId of) const {
  const KeptRows kept = MovedLocks(tables()).kept(of);
  return {.locks = shard(of).lock_count - kept.locks,
          .sessions = shard(of).session_count - kept.sessions};
}

}  // namespace gcoord::locks
