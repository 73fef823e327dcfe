// What LockModel (lock_model.h) knows, what it can be asked, and what becomes of a lock that passes
// on: grants, wakes, waits that end.
#pragma once

#include "common/name_hash.h"
#include "locks/commands/reply.h"
#include "locks/state/extra.h"
#include "locks/state/table.h"
#include "tests/locks/lock_model_parts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace gcoord::locks {

class LockModelState : public LockModelParts {
 public:
  // The token under which the lock is held, or 0. Of several holders, the oldest one's.
  std::uint64_t token_of(NameHash name) const {
    const auto lock = locks_.find(key(name));
    return lock == locks_.end() ? 0 : lock->second.holders[0].token;
  }

  std::uint64_t holder_of(NameHash name) const {
    const auto lock = locks_.find(key(name));
    return lock == locks_.end() ? 0 : lock->second.holders[0].session;
  }

  std::uint32_t serial_of(std::uint64_t session) const {
    const auto found = sessions_.find(session);
    return found == sessions_.end() ? 1 : found->second.serial;
  }

  // Where the acquire was queued that waits under these numbers; 0: none does.
  std::uint64_t wait_index(std::uint64_t session, std::uint64_t sequence) const {
    for (const auto& [name, lock] : locks_) {
      for (const Waiter& waiter : lock.queue) {
        if (waiter.session == session && waiter.sequence == sequence) {
          return waiter.index;
        }
      }
    }
    return 0;
  }

  // The newest move of the name that this shard, which is shard 0, took part in.
  std::uint32_t moves_of(NameHash name) const {
    const auto found = names_.find(key(name));
    return found == names_.end() ? 0 : found->second.number;
  }

  std::uint64_t token_last() const { return token_last_; }

  bool alive(std::uint64_t session) const {
    const auto found = sessions_.find(session);
    return found != sessions_.end() && !found->second.dying;
  }

  std::vector<Ended> ended;  // Waits that the last command ended, in order.

 protected:
  static Key key(NameHash name) { return {name.low, name.high}; }

  static bool make_room(Session& session) {
    if (session.requests.size() < kSessionRequestsMax) {
      return true;
    }
    const auto oldest =
        std::find_if(session.requests.begin(), session.requests.end(), [](const Request& request) {
          return request.answer.code != LockCode::Waiting;
        });
    if (oldest == session.requests.end()) {
      return false;
    }
    if (oldest->sequence < kImportedSequence) {
      session.forgotten_below = std::max(session.forgotten_below, oldest->sequence + 1);
    }
    session.requests.erase(oldest);
    return true;
  }

  bool is_away(Key name) const {
    const auto found = names_.find(name);
    return found != names_.end() && found->second.away;
  }

  // What is said of a name that nobody holds here.
  Answer free_answer(Key name) const {
    return is_away(name) ? Answer{LockCode::Moved, names_.at(name).to} : Answer{LockCode::NotHeld};
  }

  void free_delayed(Key name) {
    Lock& lock = locks_[name];
    const std::uint64_t id = lock.holders[0].session;
    std::erase(sessions_[id].delayed, name);
    lock.holders.clear();
    let_go(lock);
    wake(name);
    if (sessions_[id].holds.empty() && sessions_[id].delayed.empty()) {
      sessions_.erase(id);
    }
  }

  // What the holder left goes with it.
  static void let_go(Lock& lock) {
    lock.hold_count = 1;
    lock.delay_ms = 0;
    lock.delayed = false;
    lock.noted = false;
  }

  Answer grant(Key name, std::uint64_t session, const HoldOptions& ask, bool noted = false) {
    Lock& lock = locks_[name];
    if (lock.holders.empty()) {
      lock.limit = ask.limit;
      let_go(lock);
      lock.delay_ms = ask.delay_ms;
      lock.noted = noted;
    }
    const std::uint32_t permits = (ask.flags & kHoldShared) != 0 ? ask.permits : 0;
    lock.holders.push_back({session, ++token_last_, permits});
    sessions_[session].holds.push_back({name});
    return {LockCode::Granted, token_last_};
  }

  void pass_on(Key name, std::uint64_t session) {
    Lock& lock = locks_[name];
    std::erase(sessions_[session].holds, Hold{name});
    std::erase_if(lock.holders, [session](const Holder& h) { return h.session == session; });
    let_go(lock);
    wake(name);
  }

  void wake(Key name) {
    Lock& lock = locks_[name];
    while (!lock.queue.empty()) {
      const Waiter next = lock.queue.front();
      const bool shares = (next.ask.flags & kHoldShared) != 0;
      const bool fits = shares && lock.fits(next.ask) && lock.of(next.session) == nullptr;
      if (!lock.holders.empty() && !fits) {
        break;
      }
      lock.queue.pop_front();
      end_wait(next.session, next.sequence, grant(name, next.session, next.ask, next.noted));
    }
    if (lock.holders.empty()) {
      locks_.erase(name);
    }
  }

  // The ended wait becomes the newest request of its session.
  void end_wait(std::uint64_t session_id, std::uint64_t sequence, const Answer& answer) {
    std::vector<Request>& requests = sessions_[session_id].requests;
    const auto request = std::find_if(
        requests.begin(), requests.end(), [&](const Request& r) { return r.sequence == sequence; });
    request->answer = answer;
    std::rotate(request, request + 1, requests.end());
    ended.push_back({answer.code, session_id, sequence, answer.token});
  }

  // The lock that it waited for.
  Key leave_queues(std::uint64_t session, std::uint64_t sequence) {
    Key left;
    for (auto& [name, lock] : locks_) {
      const bool stood = std::erase_if(lock.queue, [&](const Waiter& waiter) {
                           return waiter.session == session && waiter.sequence == sequence;
                         }) != 0;
      left = stood ? name : left;
    }
    return left;
  }

  std::map<Key, Lock> locks_;
  std::map<std::uint64_t, Session> sessions_;
  std::map<Key, Name> names_;
  bool keeper_ = false;
  std::uint64_t token_last_ = 0;
  std::uint64_t index_ = 0;
  std::uint32_t serial_last_ = 0;
};

}  // namespace gcoord::locks
