#include "server/deadlocks/wait.h"

#include "locks/state/extra.h"
#include "locks/state/names.h"
#include "locks/state/requests.h"
#include "locks/state/share.h"

#include <algorithm>
#include <array>

namespace gcoord::server {

namespace {

using locks::LockTables;

constexpr std::size_t kHolderBytes = 16;
constexpr std::size_t kHeadBytes = 4 + 8 + 8 + 8 + 4 + 1 + 1 + 2 + 4;

locks::RequestRow waiting_row(const LockTables& tables,
                              ShardId shard,
                              SessionId session,
                              RequestSequence sequence) {
  const locks::SessionRow row = locks::find_session(tables, shard, session);
  if (row.value == 0 || tables.sessions[row].phase != locks::SessionPhase::Live) {
    return {};
  }
  const locks::RequestRow request = locks::find_request(tables, tables.sessions[row], sequence);
  const bool waits =
      request.value != 0 && tables.requests[request].code == locks::LockCode::Waiting;
  return waits ? request : locks::RequestRow{};
}

// Adds a holder; false when its session is ending.
bool add_holder(const LockTables& tables, locks::LockRow row, DeadlockWait& wait) {
  const locks::LockRecord& lock = tables.locks[row];
  if (lock.holder.value == 0) {
    return false;  // It passes on by itself.
  }
  const locks::SessionRecord& session = tables.sessions[lock.holder];
  wait.holders.push_back({session.session, lock.token});
  return session.phase == locks::SessionPhase::Live;
}

// Whether everybody up to the waiter shares the lock as its holders do, so that the first of them
// needs no more than a place; none when the queue is too long to say.
std::optional<bool> all_share(const LockTables& tables,
                              const locks::LockRecord& lock,
                              const locks::LockExtra& extra,
                              locks::RequestRow waiter) {
  locks::RequestRow row = lock.queue_first;
  for (std::uint32_t place = 0; place < kDeadlockQueueMax && row.value != 0; ++place) {
    const locks::HoldOptions ask = locks::unpack_ask(tables.requests[row].token.value);
    if ((ask.flags & locks::kHoldShared) == 0 || ask.limit != extra.permits_limit) {
      return false;
    }
    if (row == waiter) {
      return true;
    }
    row = tables.requests[row].queue_next;
  }
  return std::nullopt;
}

bool add_shares(const LockTables& tables,
                locks::RequestRow waiter,
                const locks::LockExtra& extra,
                DeadlockWait& wait) {
  const locks::LockRecord& lock = tables.locks[tables.requests[waiter].lock];
  const std::optional<bool> any = all_share(tables, lock, extra, waiter);
  bool live = any.has_value();
  wait.any = any.value_or(false);
  locks::LockRow share = extra.share_first;
  for (std::uint32_t i = 0; i < locks::kHoldersMax && share.value != 0; ++i) {
    // Who waits for any of them goes on as soon as one ends.
    live = add_holder(tables, share, wait) && live;
    share = locks::share_next(tables.locks[share]);
  }
  return live;
}

bool holds(const std::vector<DeadlockHolder>& holders, const DeadlockHolder& wanted) {
  return std::ranges::any_of(holders, [&](const DeadlockHolder& each) {
    return each.session == wanted.session && each.token == wanted.token;
  });
}

}  // namespace

std::optional<DeadlockWait> describe_wait(const locks::LockCpu& locks,
                                          ShardId shard,
                                          SessionId session,
                                          RequestSequence sequence) {
  const locks::LockView view = locks.view(shard);
  const LockTables& tables = view.tables();
  const locks::RequestRow row = waiting_row(tables, shard, session, sequence);
  if (row.value == 0) {
    return std::nullopt;
  }
  const locks::LockRow lock_row = tables.requests[row].lock;
  const locks::LockRecord& lock = tables.locks[lock_row];
  DeadlockWait wait{.shard = shard,
                    .session = session,
                    .sequence = sequence,
                    .enqueued_at = tables.requests[row].enqueued_at};
  const locks::LockExtra extra =
      locks::is_marked(lock) ? locks::load_extra(tables, lock) : locks::LockExtra{};
  const bool live = extra.share_count != 0 ? add_shares(tables, row, extra, wait)
                                           : add_holder(tables, lock_row, wait);
  return live ? std::optional{std::move(wait)} : std::nullopt;
}

bool still_waits(const locks::LockCpu& locks, DeadlockWait& wait) {
  const locks::LockView view = locks.view(wait.shard);
  const auto now = describe_wait(locks, wait.shard, wait.session, wait.sequence);
  if (!now.has_value() || now->enqueued_at != wait.enqueued_at) {
    return false;
  }
  const LockTables& tables = view.tables();
  const auto row = waiting_row(tables, wait.shard, wait.session, wait.sequence);
  std::array<char, locks::kNameBytesMax> bytes{};
  const auto& lock = tables.locks[tables.requests[row].lock];
  wait.name.assign(bytes.data(),
                   locks::load_name(tables, locks::name_of(tables, lock), bytes.data()));
  const auto known = [&](const DeadlockHolder& each) { return holds(wait.holders, each); };
  // One of all, or all of which any would do.
  return now->any ? std::ranges::all_of(now->holders, known)
                  : std::ranges::any_of(now->holders, known);
}

bool holds_anything(const locks::LockCpu& locks, SessionId session) {
  const auto registrations = locks.clock().registrations_of(session);
  return std::ranges::any_of(registrations, [&](const sessions::Registration& each) {
    return locks.session(each.row).hold_count != 0;
  });
}

void write_wait(ByteWriter& writer, const DeadlockWait& wait) {
  writer.integer(wait.shard.value);
  writer.integer(wait.session.value);
  writer.integer(wait.sequence.value);
  writer.integer(wait.enqueued_at.value);
  writer.integer(wait.waited_ms);
  writer.integer(static_cast<std::uint8_t>(wait.any ? 1 : 0));
  writer.integer(std::uint8_t{0});
  writer.text(wait.name);
  writer.integer(static_cast<std::uint32_t>(wait.holders.size()));
  for (const DeadlockHolder& holder : wait.holders) {
    writer.integer(holder.session.value);
    writer.integer(holder.token.value);
  }
}

DeadlockWait read_wait(ByteReader& reader) {
  DeadlockWait wait;
  wait.shard = ShardId{reader.integer<std::uint32_t>()};
  wait.session = SessionId{reader.integer<std::uint64_t>()};
  wait.sequence = RequestSequence{reader.integer<std::uint64_t>()};
  wait.enqueued_at = LogIndex{reader.integer<std::uint64_t>()};
  wait.waited_ms = reader.integer<std::uint32_t>();
  wait.any = reader.integer<std::uint8_t>() != 0;
  static_cast<void>(reader.integer<std::uint8_t>());
  wait.name = reader.text(locks::kNameBytesMax);
  const std::uint32_t count = reader.count(kHolderBytes, locks::kHoldersMax);
  for (std::uint32_t i = 0; i < count; ++i) {
    const SessionId session{reader.integer<std::uint64_t>()};
    wait.holders.push_back({session, FencingToken{reader.integer<std::uint64_t>()}});
  }
  return wait;
}

std::size_t wait_bytes(const DeadlockWait& wait) {
  return kHeadBytes + wait.name.size() + wait.holders.size() * kHolderBytes;
}

}  // namespace gcoord::server
