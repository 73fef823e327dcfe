// The lock service as one would first write it: maps, deques, no bounds. What LockCpu is held
// against, command by command.
#pragma once

#include "common/random.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "locks/state/extra.h"
#include "tests/locks/lock_model_moves.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace gcoord::locks {

class LockModel : public LockModelMoves {
 public:
  // Entries have the indexes 1, 2, 3.
  Answer apply(const LockCommand& command) {
    ended.clear();
    ++index_;
    const std::uint64_t id = command.session.value;
    switch (command.kind) {
      case LockCommandKind::Acquire:
        if (!sessions_.contains(id) && (command.flags & kAcquireRegister) != 0) {
          sessions_[id].serial = ++serial_last_;
        }
        return request(command);
      case LockCommandKind::Release:
      case LockCommandKind::Proclaim:
      case LockCommandKind::Transfer:
        return request(command);
      case LockCommandKind::CancelWait:
        return cancel(command);
      case LockCommandKind::BreakWait:
        return break_wait(command);
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
      case LockCommandKind::BreakLock:
        return break_lock(command);
      case LockCommandKind::EndDelay:
        return end_delay(command);
      case LockCommandKind::MoveOut:
        return move_out(command);
      case LockCommandKind::MoveIn:
        return move_in(command);
      case LockCommandKind::MoveDone:
        return move_done(command);
      default:
        return {LockCode::UnknownCommand};
    }
  }

 private:
 private:
  Answer request(const LockCommand& command) {
    const auto found = sessions_.find(command.session.value);
    if (found == sessions_.end()) {
      return {LockCode::SessionUnknown};
    }
    Session& session = found->second;
    if (session.dying) {
      return {LockCode::SessionExpired};
    }
    if (command.kind != LockCommandKind::Acquire && (command.flags & kReleaseByToken) != 0) {
      return drain_outbox(command);
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
    const Answer answer = drain_outbox(command);
    // A release that wakes a wait of the same session has moved that wait behind this request.
    for (Request& request : session.requests) {
      if (request.sequence == command.sequence.value) {
        request.answer = answer;
      }
    }
    return answer;
  }

  // Mixed well: sums of small factors were equal now and then for commands that are not.
  static std::uint32_t arguments_of(const LockCommand& command) {
    std::uint64_t hash = static_cast<std::uint64_t>(command.kind);
    for (const std::uint64_t word : {command.name_hash.low,
                                     command.token.value,
                                     std::uint64_t{command.flags} & kAcquireWait,
                                     pack_ask(hold_ask(command)),
                                     office_word(command)}) {
      hash = mix64(hash ^ word);
    }
    return static_cast<std::uint32_t>(hash);
  }

  Answer drain_outbox(const LockCommand& command) {
    switch (command.kind) {
      case LockCommandKind::Acquire:
        return acquire(command);
      case LockCommandKind::Release:
        return release(command);
      default:
        return change_office(command);
    }
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

  Answer acquire(const LockCommand& command) {
    const HoldOptions ask = hold_ask(command);
    const bool shares = (ask.flags & kHoldShared) != 0;
    const bool downgrades = (ask.flags & kHoldDowngrade) != 0;
    const std::uint64_t session = command.session.value;
    const Key name = key(command.name_hash);
    const bool noted = command.note_bytes != 0;
    if (!locks_.contains(name)) {
      if (is_away(name) || downgrades) {
        return free_answer(name);
      }
      locks_[name].marked = command_asks(command) || names_.contains(name);
      return grant(name, session, ask, noted);
    }
    Lock& lock = locks_[name];
    if (const Answer adopted = adopt(command, lock); adopted.code != LockCode::None) {
      return adopted;
    }
    Holder* own = lock.of(session);
    if (own != nullptr && !lock.shared()) {
      return acquire_own(name, ask);
    }
    if (own != nullptr) {
      const bool same = shares && ask.limit == lock.limit;
      return {same ? LockCode::AlreadyHeld : LockCode::HoldConflict, own->token};
    }
    if (downgrades) {
      return {LockCode::NotHolder, lock.holders[0].token, lock.holders[0].session};
    }
    if (shares && lock.shared() && ask.limit != lock.limit) {
      return {LockCode::LimitDiffers};
    }
    if (shares && lock.queue.empty() && lock.fits(ask)) {
      return grant(name, session, ask);
    }
    if ((command.flags & kAcquireWait) == 0) {
      const LockCode code = lock.delayed ? LockCode::LockDelayed : LockCode::Busy;
      return {code, lock.holders[0].token, lock.holders[0].session};
    }
    lock.marked = lock.marked || command_asks(command);
    lock.queue.push_back({session, command.sequence.value, ask, index_, noted});
    return {LockCode::Waiting};
  }

  Answer acquire_own(Key name, const HoldOptions& ask) {
    Lock& lock = locks_[name];
    const std::uint64_t token = lock.holders[0].token;
    if ((ask.flags & kHoldDowngrade) != 0) {
      lock.marked = true;
      if (lock.hold_count > 1) {
        return {LockCode::HoldConflict, token};
      }
      lock.holders[0].permits = 1;
      lock.limit = 0;
      lock.delay_ms = 0;
      lock.noted = false;
      // The hold counts as the session's newest.
      std::vector<Hold>& holds = sessions_[lock.holders[0].session].holds;
      std::erase(holds, Hold{name});
      holds.push_back({name});
      wake(name);
      return {LockCode::Downgraded, token};
    }
    if ((ask.flags & kHoldReentrant) == 0) {
      return {LockCode::AlreadyHeld, token};
    }
    lock.marked = true;
    if (lock.hold_count >= ask.limit) {
      return {LockCode::HoldLimit, token};
    }
    ++lock.hold_count;
    return {LockCode::HeldAgain, token};
  }

  Answer release(const LockCommand& command) {
    const Answer answer = release_held(command);
    if (answer.code == LockCode::Released || answer.code == LockCode::HoldReturned) {
      return answer;
    }
    std::vector<Hold>& holds = sessions_[command.session.value].holds;
    const Hold broken{key(command.name_hash), command.token.value};
    if (std::ranges::find(holds, broken) == holds.end()) {
      return answer;
    }
    if ((command.flags & kReleaseByToken) == 0) {
      std::erase(holds, broken);
    }
    return {LockCode::HoldBroken, command.token.value};
  }

  Answer break_lock(const LockCommand& command) {
    const Key name = key(command.name_hash);
    const auto found = locks_.find(name);
    if (found == locks_.end()) {
      return free_answer(name);
    }
    Lock& lock = found->second;
    const std::vector<Holder> before = lock.holders;
    Answer answer{LockCode::StaleToken, before[0].token, before[0].session};
    for (const Holder& holder : before) {
      const bool all = (command.flags & kBreakAll) != 0;
      if (all ? holder.token > command.token.value : holder.token != command.token.value) {
        continue;
      }
      if (answer.code != LockCode::Broken) {
        answer = {LockCode::Broken, holder.token, holder.session};
      }
      if (lock.delayed) {
        free_delayed(name);
        return answer;
      }
      std::vector<Hold>& holds = sessions_[holder.session].holds;
      std::erase(holds, Hold{name});
      std::erase_if(lock.holders, [&](const Holder& h) { return h.token == holder.token; });
      if (!sessions_[holder.session].dying) {
        holds.push_back({name, holder.token});
      }
    }
    if (answer.code == LockCode::Broken) {
      let_go(lock);
      wake(name);
    }
    return answer;
  }

  Answer end_delay(const LockCommand& command) {
    const auto found = locks_.find(key(command.name_hash));
    if (found == locks_.end() || !found->second.delayed ||
        found->second.holders[0].token != command.token.value) {
      return {LockCode::DelayOver};
    }
    const Holder holder = found->second.holders[0];
    free_delayed(found->first);
    return {LockCode::DelayEnded, holder.token, holder.session};
  }

  Answer release_held(const LockCommand& command) {
    const auto found = locks_.find(key(command.name_hash));
    if (found == locks_.end()) {
      return free_answer(key(command.name_hash));
    }
    Lock& lock = found->second;
    const Holder* own = lock.of(command.session.value);
    if (own == nullptr) {
      return {LockCode::NotHolder, lock.holders[0].token, lock.holders[0].session};
    }
    if (own->token != command.token.value) {
      return {LockCode::StaleToken, own->token};
    }
    if (lock.hold_count > 1 && (command.flags & kReleaseByToken) == 0) {
      --lock.hold_count;
      return {LockCode::HoldReturned, command.token.value};
    }
    pass_on(found->first, command.session.value);
    return {LockCode::Released, command.token.value};
  }

  Answer change_office(const LockCommand& command) {
    const Key name = key(command.name_hash);
    if (!locks_.contains(name)) {
      return free_answer(name);
    }
    Lock& lock = locks_[name];
    const Holder* own = lock.of(command.session.value);
    if (own == nullptr) {
      return {LockCode::NotHolder, lock.holders[0].token, lock.holders[0].session};
    }
    if (lock.shared()) {
      return {LockCode::HoldConflict, own->token};
    }
    if (own->token != command.token.value) {
      return {LockCode::StaleToken, own->token};
    }
    if (command.kind == LockCommandKind::Proclaim) {
      lock.marked = true;
      lock.noted = command.note_bytes != 0;
      return {LockCode::Proclaimed, own->token};
    }
    return transfer(name, office_word(command));
  }

  // The oldest of the target's waits, in the order in which it asked.
  Answer transfer(Key name, std::uint64_t target) {
    Lock& lock = locks_[name];
    // A wait that took over the place of one that came with the lock stands further in front.
    auto waiter = lock.queue.end();
    const auto asked = sessions_.find(target);
    const auto requests =
        asked == sessions_.end() ? std::vector<Request>{} : asked->second.requests;
    for (const Request& request : requests) {
      waiter = std::find_if(lock.queue.begin(), lock.queue.end(), [&](const Waiter& w) {
        return w.session == target && w.sequence == request.sequence &&
               (w.ask.flags & kHoldShared) == 0;
      });
      if (waiter != lock.queue.end()) {
        break;
      }
    }
    if (waiter == lock.queue.end()) {
      return {LockCode::TargetAbsent, lock.holders[0].token};
    }
    const Waiter next = *waiter;
    lock.queue.erase(waiter);
    std::erase(sessions_[lock.holders[0].session].holds, Hold{name});
    lock.holders.clear();
    const Answer granted = grant(name, next.session, next.ask, next.noted);
    end_wait(next.session, next.sequence, granted);
    return {LockCode::Transferred, granted.token, target};
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
      const Key left = leave_queues(command.session.value, command.sequence.value);
      end_wait(command.session.value, command.sequence.value, answer);
      wake(left);
      return answer;
    }
    return {LockCode::NotWaiting};
  }

  Answer break_wait(const LockCommand& command) {
    const auto found = sessions_.find(command.session.value);
    if (found == sessions_.end() || found->second.dying) {
      return {found == sessions_.end() ? LockCode::SessionUnknown : LockCode::SessionExpired};
    }
    if (wait_index(command.session.value, command.sequence.value) != command.token.value) {
      return {LockCode::NotWaiting};
    }
    const Key left = leave_queues(command.session.value, command.sequence.value);
    end_wait(command.session.value, command.sequence.value, {LockCode::Deadlock});
    wake(left);
    return {LockCode::Deadlock};
  }

  Answer end(std::uint64_t id, LockCode code) {
    Session& session = sessions_[id];
    session.failed = session.dying ? session.failed : code == LockCode::SessionExpired;
    session.dying = true;
    std::vector<Key> left;
    for (const Request& request : std::exchange(session.requests, {})) {
      if (request.answer.code == LockCode::Waiting) {
        left.push_back(leave_queues(id, request.sequence));
        ended.push_back({LockCode::SessionExpired, id, request.sequence, 0});
      }
    }
    for (const Key& name : left) {
      wake(name);
    }
    for (std::uint32_t i = 0; i < kReleasesPerCommandMax && !session.holds.empty(); ++i) {
      const Hold hold = session.holds.back();
      if (session.failed && hold.broken_token == 0 && locks_[hold.name].delay_ms != 0) {
        locks_[hold.name].delayed = true;
        session.holds.pop_back();
        session.delayed.push_back(hold.name);
        continue;
      }
      const bool many = hold.broken_token != 0 || locks_[hold.name].marked;
      const std::uint32_t needed = many ? kHoldersMax : 1;
      if (ended.size() + needed > kEndEventsMax) {
        break;
      }
      if (hold.broken_token != 0) {
        session.holds.pop_back();
      } else {
        pass_on(hold.name, id);
      }
    }
    Answer answer{code};
    answer.more = !session.holds.empty();
    if (!answer.more && session.delayed.empty()) {
      sessions_.erase(id);
    }
    return answer;
  }
};

}  // namespace gcoord::locks
