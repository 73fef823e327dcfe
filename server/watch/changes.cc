#include "server/watch/changes.h"

#include "locks/commands/move_command.h"
#include "locks/state/broken.h"
#include "locks/state/delay.h"
#include "locks/state/keys.h"
#include "locks/state/requests.h"
#include "locks/state/share.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

using locks::LockCommandKind;
using protocol::WatchEventKind;

// Why the holds that a command ends have ended.
WatchEventKind ending_of(LockCommandKind kind) {
  switch (kind) {
    case LockCommandKind::ExpireSession:
      return WatchEventKind::Expired;
    case LockCommandKind::BreakLock:
      return WatchEventKind::Broken;
    default:
      return WatchEventKind::Released;
  }
}

bool ends_wait(LockCommandKind kind) {
  return kind == LockCommandKind::CancelWait || kind == LockCommandKind::BreakWait;
}

// Whether the lock that the command names is the only one that it reaches.
bool reaches_name(LockCommandKind kind) {
  return locks::concerns_lock(kind) || kind == LockCommandKind::BreakLock ||
         kind == LockCommandKind::EndDelay || kind == LockCommandKind::MoveIn ||
         kind == LockCommandKind::MoveLapse;
}

bool ends_session(LockCommandKind kind) {
  return kind == LockCommandKind::ExpireSession || kind == LockCommandKind::CloseSession;
}

NameHash name_of(const locks::LockTables& tables, locks::LockRow row) {
  const locks::LockRecord& lock = tables.locks[row];
  return is_share(lock) ? tables.locks[locks::head_of(lock)].name_hash : lock.name_hash;
}

}  // namespace

std::shared_ptr<const WatchMove> watch_move(const locks::LockCommand& command,
                                            const locks::LockReply& reply) {
  const bool left = reply.code == locks::LockCode::MovedOut;
  if (!left && (reply.code != locks::LockCode::MovedIn || reply.replayed)) {
    return nullptr;
  }
  WatchMove move{.name = std::string{command.name, command.name_bytes},
                 .number = locks::move_number(command),
                 .left = left,
                 .other = locks::move_shard(command),
                 .carried = command.token};
  if (left) {
    move.number = static_cast<std::uint32_t>(reply.token.value);
    move.carried = FencingToken{};
  }
  return std::make_shared<const WatchMove>(std::move(move));
}

WatchChanges::Reached WatchChanges::look(const locks::LockCpu& locks,
                                         ShardId shard,
                                         NameHash hash) {
  Reached reached{.hash = hash};
  auto lock = locks.get(shard, hash);
  if (!lock) {
    return reached;
  }
  reached.name = std::move(lock->name);
  reached.note = std::move(lock->note);
  if (lock->hold_count == 0) {
    return reached;  // Nobody's for its delay: its holder's end was told when it failed.
  }
  for (const auto& holder : lock->holders) {
    reached.holds.push_back({holder.session, holder.token});
  }
  if (lock->holders.empty() && lock->holder.value != 0) {
    reached.holds.push_back({lock->holder, lock->token});
  }
  return reached;
}

void WatchChanges::reach(const locks::LockCpu& locks, ShardId shard, NameHash hash) {
  if (std::ranges::find(reached_, hash, &Reached::hash) == reached_.end()) {
    reached_.push_back(look(locks, shard, hash));
  }
}

// What the end of a session reaches in one command (locks/state/session_locks.h): the locks that it
// waits for, and those of its holds that come first.
void WatchChanges::reach_session(const locks::LockCpu& locks, ShardId shard, SessionId session) {
  const locks::LockView view = locks.view(shard);
  const locks::LockTables& tables = view.tables();
  const locks::SessionRow row = locks::find_session(tables, shard, session);
  if (row.value == 0) {
    return;
  }
  locks::LockRow held = tables.sessions[row].hold_first;
  for (std::uint32_t k = 0; k < locks::kReleasesPerCommandMax && held.value != 0; ++k) {
    if (!is_broken(tables.locks[held])) {  // Its lock has another holder, or none, since then.
      reach(locks, shard, name_of(tables, held));
    }
    held = tables.locks[held].hold_next;
  }
  locks::RequestRow request = locks::first_request(tables.sessions[row]);
  for (; request.value != 0; request = tables.requests[request].next) {
    if (tables.requests[request].code == locks::LockCode::Waiting) {
      reach(locks, shard, name_of(tables, tables.requests[request].lock));
    }
  }
}

void WatchChanges::reach_wait(const locks::LockCpu& locks,
                              ShardId shard,
                              const locks::LockCommand& command) {
  const locks::LockView view = locks.view(shard);
  const locks::LockTables& tables = view.tables();
  const locks::SessionRow row = locks::find_session(tables, shard, command.session);
  if (row.value == 0) {
    return;
  }
  const locks::RequestRow request =
      locks::find_request(tables, tables.sessions[row], command.sequence);
  if (request.value != 0 && tables.requests[request].code == locks::LockCode::Waiting) {
    reach(locks, shard, name_of(tables, tables.requests[request].lock));
  }
}

void WatchChanges::before(const locks::LockCpu& locks,
                          ShardId shard,
                          const locks::LockCommand& command) {
  reached_.clear();
  if (ends_session(command.kind)) {
    reach_session(locks, shard, command.session);
  } else if (ends_wait(command.kind)) {
    reach_wait(locks, shard, command);
  } else if (reaches_name(command.kind)) {
    reach(locks, shard, command.name_hash);
  }
}

// Whom a lock brought along and who was not let in: their sessions ended here before it came, which
// nobody was told of with this name. A lock that moves has no note (locks/state/move.h), so the
// hold that expires had none.
void WatchChanges::add_lost(const locks::LockCpu& locks,
                            ShardId shard,
                            const locks::LockCommand& command,
                            std::vector<WatchChange>& changes) {
  const std::string name(command.name, command.name_bytes);
  const Reached now = look(locks, shard, command.name_hash);
  const auto queue =
      locks.waiters(shard, command.name_hash, 0, std::size_t{locks::kMoveWaitersMax});
  for (std::uint32_t i = 0; i < locks::moved_count(command); ++i) {
    const SessionId session = locks::moved_session(command, i).session;
    const bool holds = std::ranges::find(now.holds, session, &Hold::session) != now.holds.end();
    const bool waits =
        std::ranges::find(queue, session, &locks::QueuedWaiter::session) != queue.end();
    if (i != 0 && !holds && !waits) {
      changes.push_back({WatchEventKind::Left, name, {}, session});
    } else if (i == 0 && !has_hold(now, command.token)) {
      changes.push_back({WatchEventKind::Expired, name, command.token, session});
    }
  }
}

bool WatchChanges::has_hold(const Reached& lock, FencingToken token) {
  return std::ranges::find(lock.holds, token, &Hold::token) != lock.holds.end();
}

void WatchChanges::add_ends(const Reached& old,
                            const Reached& now,
                            WatchEventKind ending,
                            std::vector<WatchChange>& changes) {
  for (const Hold& hold : old.holds) {
    if (!has_hold(now, hold.token)) {
      changes.push_back({ending, old.name, hold.token, hold.session, {}, old.note});
    }
  }
}

void WatchChanges::add_grants(const Reached& old,
                              const Reached& now,
                              std::vector<WatchChange>& changes) {
  // Behind the ends of holds of the same name, if there are any, come its grants.
  std::size_t end = changes.size();
  while (end > 0 && changes[end - 1].name == now.name &&
         changes[end - 1].kind == WatchEventKind::Left) {
    --end;
  }
  const bool replaces =
      end > 0 && changes[end - 1].name == now.name && protocol::ends_hold(changes[end - 1].kind);
  for (const Hold& hold : now.holds) {
    if (!has_hold(old, hold.token)) {
      changes.push_back({WatchEventKind::Granted, now.name, hold.token, hold.session, now.note});
      changes.back().replaces = static_cast<std::uint16_t>(replaces ? changes.size() - end : 0);
    } else if (now.note != old.note) {
      changes.push_back(
          {WatchEventKind::ValueChanged, now.name, hold.token, hold.session, now.note, old.note});
    }
  }
}

std::vector<WatchChange> WatchChanges::after(const locks::LockCpu& locks,
                                             ShardId shard,
                                             const locks::LockCommand& command,
                                             const locks::LockReply& reply,
                                             std::span<const locks::LockEvent> ended) {
  std::vector<WatchChange> changes;
  if (reply.code == locks::LockCode::MovedIn && !reply.replayed) {
    add_lost(locks, shard, command, changes);
  }
  for (const Reached& old : reached_) {
    const Reached now = look(locks, shard, old.hash);
    const std::string& name = old.name.empty() ? now.name : old.name;
    for (const locks::LockEvent& end : ended) {
      if (end.name == old.hash && end.code != locks::LockCode::Granted) {
        changes.push_back({WatchEventKind::Left, name, {}, end.session});
      }
    }
    add_ends(old, now, ending_of(command.kind), changes);
    add_grants(old, now, changes);
    if (reply.code == locks::LockCode::Waiting && !reply.replayed) {
      changes.push_back({WatchEventKind::Waiting, name, {}, command.session});
    }
  }
  return changes;
}

}  // namespace gcoord::server
