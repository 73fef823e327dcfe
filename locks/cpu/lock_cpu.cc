#include "locks/cpu/lock_cpu.h"

#include "common/assert.h"
#include "locks/commands/ends.h"
#include "locks/snapshot/snapshot.h"
#include "locks/state/apply.h"
#include "locks/state/session_prefetch.h"

#include <algorithm>

namespace gcoord::locks {
namespace {

constexpr std::uint32_t kWordBits = 64;

std::size_t led_word_count(std::uint32_t shard_count) {
  return (std::size_t{shard_count} + kWordBits - 1) / kWordBits;
}

std::size_t shard_column_bytes(std::uint32_t shard_count) {
  return ColumnArena::bytes_for<LockShardRow>(shard_count) +
         ColumnArena::bytes_for<std::uint64_t>(led_word_count(shard_count));
}

}  // namespace

LockCpu::LockCpu(const LockOptions& options)
    : options_(options),
      shard_columns_(shard_column_bytes(options.shard_count)),
      clock_(options.clock),
      delays_(options.clock.tick_ms) {
  GCOORD_ASSERT(options.shard_count > 0);
  tables_.shards = shard_columns_.column<LockShardRow>(options.shard_count);
  led_ = shard_columns_.column<std::uint64_t>(led_word_count(options.shard_count));
  tables_.shard_count = options.shard_count;
  tables_.index_seed = options.index_seed;
  tables_.waiter_count = &waiter_count_;
  const std::uint32_t rows = std::max(options.rows_initial, 1u);
  reserve({.locks = rows, .sessions = rows, .requests = rows, .name_blocks = rows});
}

// True when the pool's records moved.
template <typename Record, typename RowId>
bool LockCpu::grow_pool(PoolMemory<Record, RowId>& memory,
                        RowPool<Record, RowId>& pool,
                        std::uint32_t wanted) {
  if (pool.window != nullptr && pool.available() >= wanted) [[likely]] {
    return false;
  }
  const std::uint32_t capacity = std::max(2 * pool.capacity, memory.window.next + wanted);
  memory.records.resize(std::size_t{capacity} + 1);
  memory.free_rows.resize(capacity);
  pool.records = memory.records.data();
  pool.free_rows = memory.free_rows.data();
  pool.window = &memory.window;
  pool.window->last = capacity;
  pool.capacity = capacity;
  return true;
}

void LockCpu::reserve(const LockDemand& demand) {
  grow_pool(request_memory_, tables_.requests, demand.requests);
  grow_pool(name_memory_, tables_.name_blocks, demand.name_blocks);
  if (grow_pool(lock_memory_, tables_.locks, demand.locks) || lock_index_.moving()) {
    lock_index_.reserve(tables_.locks.capacity);
    tables_.lock_index = lock_index_.view();
  }
  const bool grown = grow_pool(session_memory_, tables_.sessions, demand.sessions);
  if (grown || session_index_.moving()) {
    session_index_.reserve(tables_.sessions.capacity);
    tables_.session_index = session_index_.view();
  }
  if (grown) {
    clock_.reserve(tables_.sessions.capacity);
  }
}

LockReply LockCpu::apply(
    ShardId shard, LogIndex index, const LockCommand& command, Tick now, LockEvents& events) {
  if (command.kind == LockCommandKind::ExpireSessions) {
    EndsPrefetch ahead{tables_, clock_.columns(), shard, command};
    return apply_ends(command, events, [&](const LockCommand& end, std::uint32_t i) {
      ahead.before(i);
      return apply(shard, index, end, now, events);
    });
  }
  reserve(demand_of(command));
  const bool breaks = command.kind == LockCommandKind::BreakLock;
  const auto targets = breaks ? break_targets(shard, command) : std::vector<BreakTarget>{};
  const std::vector<SessionId> newcomers = sessions_to_come(shard, command);
  const LockReply reply = locks::apply(tables_, shard, index, command, events);
  unknown_command_count_ += reply.code == LockCode::UnknownCommand ? 1 : 0;
  follow_break(targets, shard, command);
  follow_force(command, reply, shard);
  follow_newcomers(newcomers, shard, now);
  follow(reply, shard, now);
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

// Keeps the session clock in step with what a command did.
void LockCpu::follow(const LockReply& reply, ShardId shard, Tick now) {
  switch (reply.change) {
    case RegistrationChange::None:
      return;
    case RegistrationChange::Added:
      GCOORD_ASSERT(tables_.sessions[reply.changed_row].shard == shard);
      return register_with_clock(reply.changed_row, now);
    case RegistrationChange::Dying:
      follow_delays(reply.changed_row, shard, now);
      return clock_.on_dying(reply.changed_row, now);
    case RegistrationChange::Delaying:
      follow_delays(reply.changed_row, shard, now);
      return clock_.on_delaying(reply.changed_row);
    case RegistrationChange::Removed:
      // Closed sessions are remembered too: who keeps one alive that another program closed must
      // learn that it is over.
      return clock_.on_removed(
          reply.changed_row,
          reply.code == LockCode::SessionExpired || reply.code == LockCode::SessionClosed ||
              reply.code == LockCode::DelayEnded || reply.code == LockCode::Broken);
  }
}

void LockCpu::register_with_clock(SessionRow row, Tick now) {
  const SessionRecord& session = tables_.sessions[row];
  clock_.on_registered({.row = row,
                        .shard = session.shard,
                        .session = session.session,
                        .serial = session.serial,
                        .ttl_ms = session.ttl_ms},
                       now,
                       leads(session.shard));
  if (session.phase != SessionPhase::Live) {
    clock_.on_dying(row, now);
  }
}

bool LockCpu::leads(ShardId shard) const {
  return (led_[shard.value / kWordBits] >> (shard.value % kWordBits) & 1) != 0;
}

bool LockCpu::remembers(ShardId shard, const LockCommand& command) const {
  const SessionRow row = find_session(tables_, shard, command.session);
  return row.value != 0 &&
         find_request(tables_, tables_.sessions[row], command.sequence).value != 0;
}

LockLimit LockCpu::would_exceed(ShardId shard, const LockCommand& command) const {
  const bool registers =
      command.kind == LockCommandKind::RegisterSession || (command.flags & kAcquireRegister) != 0;
  const bool sessions_full = tables_.sessions.used() >= options_.limits.sessions_max;
  if (registers && sessions_full && !registered(shard, command.session)) {
    return LockLimit::Sessions;
  }
  if (command.kind != LockCommandKind::Acquire) {
    return LockLimit::None;
  }
  const bool held = find_lock(tables_, shard, command.name_hash).value != 0;
  const bool waits = held && (command.flags & kAcquireWait) != 0;
  LockLimit limit = LockLimit::None;
  const bool takes_row = !held || (command.hold_flags & kHoldShared) != 0;
  if (takes_row && tables_.locks.used() >= options_.limits.locks_max) {
    limit = LockLimit::Locks;
  } else if (waits && waiter_count_ >= options_.limits.waiters_max) {
    limit = LockLimit::Waiters;
  } else if (tables_.requests.used() >= options_.limits.requests_max) {
    limit = LockLimit::Requests;
  }
  // Looked at last, because hardly ever is anything full.
  return limit != LockLimit::None && remembers(shard, command) ? LockLimit::None : limit;
}

std::vector<std::byte> LockCpu::serialize(ShardId shard) const {
  return write_snapshot(tables_, shard);
}

Status LockCpu::deserialize(ShardId shard, std::span<const std::byte> bytes, Tick now) {
  drop(shard);
  GCOORD_TRY(const LockSnapshot snapshot, parse_snapshot(bytes));
  reserve(demand_of(snapshot));
  install_snapshot(tables_, shard, snapshot);
  SessionRow row = tables_.shard(shard).session_first;
  for (; row.value != 0; row = tables_.sessions[row].shard_next) {
    if (is_timed(row)) {
      register_with_clock(row, now);
      follow_restored(row, now);
    }
  }
  return {};
}

void LockCpu::drop(ShardId shard) {
  SessionRow row = tables_.shard(shard).session_first;
  for (; row.value != 0; row = tables_.sessions[row].shard_next) {
    if (is_timed(row)) {
      clock_.on_removed(row, false);
    }
  }
  delays_.drop(shard);
  drop_shard(tables_, shard);
}

void LockCpu::on_became_leader(ShardId shard, Tick now, std::uint64_t election_ticks) {
  led_[shard.value / kWordBits] |= std::uint64_t{1} << (shard.value % kWordBits);
  SessionRow row = tables_.shard(shard).session_first;
  for (; row.value != 0; row = tables_.sessions[row].shard_next) {
    if (is_timed(row)) {
      clock_.on_led(row, now, election_ticks);
    }
  }
  delays_.on_led(shard);
}

void LockCpu::on_lost_leadership(ShardId shard) {
  led_[shard.value / kWordBits] &= ~(std::uint64_t{1} << (shard.value % kWordBits));
  SessionRow row = tables_.shard(shard).session_first;
  for (; row.value != 0; row = tables_.sessions[row].shard_next) {
    if (is_timed(row)) {
      clock_.on_not_led(row);
    }
  }
  delays_.on_not_led(shard);
}

LockUsage LockCpu::usage() const {
  const auto bytes_of = [](const auto& memory) {
    return memory.records.memory_bytes() + memory.free_rows.memory_bytes();
  };
  LockUsage usage;
  usage.locks = lock_memory_.window.next;
  usage.waiters = waiter_count_;
  usage.sessions = session_memory_.window.next;
  usage.requests = request_memory_.window.next;
  usage.name_blocks = name_memory_.window.next;
  usage.memory_bytes = shard_columns_.used_bytes() + bytes_of(lock_memory_) +
                       bytes_of(session_memory_) + bytes_of(request_memory_) +
                       bytes_of(name_memory_) + lock_index_.memory_bytes() +
                       session_index_.memory_bytes();
  return usage;
}

}  // namespace gcoord::locks
