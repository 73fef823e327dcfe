// The lock service as one would first write it: maps, deques, no bounds. What LockCpu is held
// against, command by command.
#pragma once

#include "common/name_hash.h"
#include "locks/lock_command.h"
#include "locks/lock_reply.h"
#include "locks/lock_table.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace gcoord::locks {

class LockModel {
 public:
  struct Answer {
    LockCode code = LockCode::None;
    std::uint64_t token = 0;
    std::uint64_t holder = 0;
    bool more = false;
  };

  struct Ended {
    LockCode code = LockCode::None;
    std::uint64_t session = 0;
    std::uint64_t sequence = 0;
    std::uint64_t token = 0;
  };

  Answer apply(const LockCommand& command) {
    ended.clear();
    const std::uint64_t id = command.session.value;
    switch (command.kind) {
      case LockCommandKind::Acquire:
        if (!sessions_.contains(id) && (command.flags & kAcquireRegister) != 0) {
          sessions_[id].serial = ++serial_last_;
        }
        return request(command);
      case LockCommandKind::Release:
        return request(command);
      case LockCommandKind::CancelWait:
        return cancel(command);
      case LockCommandKind::RegisterSession:
        if (!sessions_.contains(id)) {
          sessions_[id].serial = ++serial_last_;
        }
        return {sessions_[id].dying ? LockCode::SessionExpired : LockCode::SessionRegistered};
      case LockCommandKind::ExpireSession:
        if (!sessions_.contains(id)) {
          return {LockCode::SessionUnknown};
        }
        if (sessions_[id].serial != command.serial) {
          return {LockCode::SerialStale};
        }
        return end(id, LockCode::SessionExpired);
      case LockCommandKind::CloseSession:
        return sessions_.contains(id) ? end(id, LockCode::SessionClosed)
                                      : Answer{LockCode::SessionClosed};
      default:
        return {LockCode::UnknownCommand};
    }
  }

  // The token under which the lock is held, or 0.
  std::uint64_t token_of(NameHash name) const {
    const auto lock = locks_.find(key(name));
    return lock == locks_.end() ? 0 : lock->second.token;
  }

  std::uint64_t holder_of(NameHash name) const {
    const auto lock = locks_.find(key(name));
    return lock == locks_.end() ? 0 : lock->second.holder;
  }

  std::uint32_t serial_of(std::uint64_t session) const {
    const auto found = sessions_.find(session);
    return found == sessions_.end() ? 1 : found->second.serial;
  }

  bool alive(std::uint64_t session) const {
    const auto found = sessions_.find(session);
    return found != sessions_.end() && !found->second.dying;
  }

  std::vector<Ended> ended;  // Waits that the last command ended, in order.

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;

  struct Request {
    std::uint64_t sequence = 0;
    std::uint32_t arguments = 0;
    Answer answer;
  };

  struct Session {
    std::uint32_t serial = 0;
    std::uint64_t acked_below = 1;
    std::uint64_t forgotten_below = 1;
    bool dying = false;
    std::vector<Request> requests;  // By the time of their latest answer.
    std::vector<Key> holds;         // Newest last.
  };

  struct Lock {
    std::uint64_t holder = 0;
    std::uint64_t token = 0;
    std::uint32_t hold_count = 1;
    std::deque<std::pair<std::uint64_t, std::uint64_t>> queue;  // Session, sequence.
  };

  static Key key(NameHash name) { return {name.low, name.high}; }

  Answer request(const LockCommand& command) {
    const auto found = sessions_.find(command.session.value);
    if (found == sessions_.end()) {
      return {LockCode::SessionUnknown};
    }
    Session& session = found->second;
    if (session.dying) {
      return {LockCode::SessionExpired};
    }
    if (command.kind == LockCommandKind::Release && (command.flags & kReleaseByToken) != 0) {
      return release(command);
    }
    acknowledge(session, command.acked_below.value);
    for (const Request& request : session.requests) {
      if (request.sequence == command.sequence.value) {
        const bool same = request.arguments == arguments_of(command);
        return same ? request.answer : Answer{LockCode::SequenceReused};
      }
    }
    if (const LockCode refused = refuse(session, command.sequence.value);
        refused != LockCode::None) {
      return {refused};
    }
    if (!make_room(session)) {
      return {LockCode::WindowFull};
    }
    if (command.sequence.value < session.forgotten_below) {
      return {LockCode::SequenceForgotten};
    }
    session.requests.push_back({command.sequence.value, arguments_of(command), {}});
    const Answer answer =
        command.kind == LockCommandKind::Acquire ? acquire(command) : release(command);
    // A release that wakes a wait of the same session has moved that wait behind this request.
    for (Request& request : session.requests) {
      if (request.sequence == command.sequence.value) {
        request.answer = answer;
      }
    }
    return answer;
  }

  static std::uint32_t arguments_of(const LockCommand& command) {
    const auto kind = static_cast<std::uint64_t>(command.kind);
    return static_cast<std::uint32_t>(command.name_hash.low * 31 + command.token.value * 7 +
                                      kind * 3 + (command.flags & kAcquireWait) +
                                      pack_ask(hold_ask(command)) * 13);
  }

  static void acknowledge(Session& session, std::uint64_t below) {
    if (below <= session.acked_below) {
      return;
    }
    session.acked_below = below;
    std::erase_if(session.requests, [below](const Request& request) {
      return request.sequence < below && request.answer.code != LockCode::Waiting;
    });
  }

  static LockCode refuse(const Session& session, std::uint64_t sequence) {
    if (sequence < session.acked_below) {
      return LockCode::SequenceStale;
    }
    return sequence < session.forgotten_below ? LockCode::SequenceForgotten : LockCode::None;
  }

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
    session.forgotten_below = std::max(session.forgotten_below, oldest->sequence + 1);
    session.requests.erase(oldest);
    return true;
  }

  Answer acquire(const LockCommand& command) {
    const auto found = locks_.find(key(command.name_hash));
    if (found == locks_.end()) {
      return grant(key(command.name_hash), command.session.value);
    }
    Lock& lock = found->second;
    if (lock.holder == command.session.value) {
      return acquire_again(lock, hold_ask(command));
    }
    if ((command.flags & kAcquireWait) == 0) {
      return {LockCode::Busy, lock.token, lock.holder};
    }
    lock.queue.emplace_back(command.session.value, command.sequence.value);
    return {LockCode::Waiting};
  }

  static Answer acquire_again(Lock& lock, const HoldAsk& ask) {
    if ((ask.flags & kHoldReentrant) == 0) {
      return {LockCode::AlreadyHeld, lock.token};
    }
    if (lock.hold_count >= ask.limit) {
      return {LockCode::HoldLimit, lock.token};
    }
    ++lock.hold_count;
    return {LockCode::HeldAgain, lock.token};
  }

  Answer release(const LockCommand& command) {
    const auto found = locks_.find(key(command.name_hash));
    if (found == locks_.end()) {
      return {LockCode::NotHeld};
    }
    Lock& lock = found->second;
    if (lock.holder != command.session.value) {
      return {LockCode::NotHolder, lock.token, lock.holder};
    }
    if (lock.token != command.token.value) {
      return {LockCode::StaleToken, lock.token};
    }
    if (lock.hold_count > 1 && (command.flags & kReleaseByToken) == 0) {
      --lock.hold_count;
      return {LockCode::HoldReturned, command.token.value};
    }
    pass_on(found->first);
    return {LockCode::Released, command.token.value};
  }

  Answer grant(Key name, std::uint64_t session) {
    Lock& lock = locks_[name];
    lock.holder = session;
    lock.hold_count = 1;
    lock.token = ++token_last_;
    sessions_[session].holds.push_back(name);
    return {LockCode::Granted, lock.token};
  }

  void pass_on(Key name) {
    Lock& lock = locks_[name];
    std::erase(sessions_[lock.holder].holds, name);
    if (lock.queue.empty()) {
      locks_.erase(name);
      return;
    }
    const auto [session, sequence] = lock.queue.front();
    lock.queue.pop_front();
    end_wait(session, sequence, grant(name, session));
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

  void leave_queues(std::uint64_t session, std::uint64_t sequence) {
    for (auto& [name, lock] : locks_) {
      std::erase(lock.queue, std::make_pair(session, sequence));
    }
  }

  Answer cancel(const LockCommand& command) {
    const auto found = sessions_.find(command.session.value);
    if (found == sessions_.end()) {
      return {LockCode::SessionUnknown};
    }
    if (found->second.dying) {
      return {LockCode::SessionExpired};
    }
    for (const Request& request : found->second.requests) {
      if (request.sequence != command.sequence.value) {
        continue;
      }
      if (request.answer.code != LockCode::Waiting) {
        return request.answer;
      }
      const Answer answer{(command.flags & kCancelTimedOut) != 0 ? LockCode::WaitTimedOut
                                                                 : LockCode::WaitCancelled};
      leave_queues(command.session.value, command.sequence.value);
      end_wait(command.session.value, command.sequence.value, answer);
      return answer;
    }
    return {LockCode::NotWaiting};
  }

  Answer end(std::uint64_t id, LockCode code) {
    Session& session = sessions_[id];
    session.dying = true;
    for (const Request& request : std::exchange(session.requests, {})) {
      if (request.answer.code == LockCode::Waiting) {
        leave_queues(id, request.sequence);
        ended.push_back({LockCode::SessionExpired, id, request.sequence, 0});
      }
    }
    for (std::uint32_t i = 0; i < kReleasesPerCommandMax && !session.holds.empty(); ++i) {
      pass_on(Key{session.holds.back()});
    }
    Answer answer{code};
    answer.more = !session.holds.empty();
    if (!answer.more) {
      sessions_.erase(id);
    }
    return answer;
  }

  std::map<Key, Lock> locks_;
  std::map<std::uint64_t, Session> sessions_;
  std::uint64_t token_last_ = 0;
  std::uint32_t serial_last_ = 0;
};

}  // namespace gcoord::locks
