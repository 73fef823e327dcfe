// Locks that move between shards, as LockModel (lock_model.h) does it: this shard is shard 0.
#pragma once

#include "locks/commands/command.h"
#include "locks/commands/move_command.h"
#include "locks/commands/reply.h"
#include "locks/state/extra.h"
#include "tests/locks/lock_model_state.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gcoord::locks {

class LockModelMoves : public LockModelState {
 protected:
  static std::uint32_t import_arguments(Key name) { return static_cast<std::uint32_t>(name.first); }

  // The request takes over what a wait that came with the lock has become.
  Answer adopt(const LockCommand& command, Lock& lock) {
    const Key name = key(command.name_hash);
    const bool plain = (command.flags & (kAcquireWait | kAcquireHold)) == kAcquireWait;
    if (!names_.contains(name) || !plain) {
      return {};
    }
    const std::uint64_t id = command.session.value;
    std::vector<Request>& requests = sessions_[id].requests;
    for (auto request = requests.begin(); request != requests.end(); ++request) {
      const auto waiter =
          std::find_if(lock.queue.begin(), lock.queue.end(), [&](const Waiter& each) {
            return each.session == id && each.sequence == request->sequence;
          });
      const bool granted = request->answer.code == LockCode::Granted && !lock.shared() &&
                           request->arguments == import_arguments(name) &&
                           lock.holders[0].session == id &&
                           lock.holders[0].token == request->answer.token;
      if (request->sequence < kImportedSequence || (waiter == lock.queue.end() && !granted)) {
        continue;
      }
      const Answer answer = request->answer;
      requests.erase(request);
      if (granted) {
        return answer;
      }
      waiter->sequence = command.sequence.value;
      waiter->ask = hold_ask(command);
      waiter->noted = command.note_bytes != 0;
      return {LockCode::Waiting};
    }
    return {};
  }

  void have_keeper() {
    serial_last_ += keeper_ ? 0 : 1;
    keeper_ = true;
  }

  Answer move_out(const LockCommand& command) {
    const Key name = key(command.name_hash);
    const auto found = locks_.find(name);
    if (found == locks_.end() && (is_away(name) || !names_.contains(name))) {
      return free_answer(name);
    }
    if (found != locks_.end() && (!plain(found->second) || unasked(name, found->second))) {
      return {LockCode::MoveNotPlain};
    }
    const std::uint64_t to = move_shard(command).value;
    have_keeper();
    names_[name] = {names_[name].number + 1, true, to};
    if (found != locks_.end()) {
      const Lock lock = found->second;
      for (const Waiter& waiter : lock.queue) {
        end_wait(waiter.session, waiter.sequence, {LockCode::Moved, to});
      }
      std::erase(sessions_[lock.holders[0].session].holds, Hold{name});
      locks_.erase(name);
    }
    return {LockCode::MovedOut, names_[name].number};
  }

  // Whether the one holder was granted a lock that came here, and has not fetched the grant.
  bool unasked(Key name, const Lock& lock) {
    return names_.contains(name) &&
           std::ranges::any_of(sessions_[lock.holders[0].session].requests,
                               [&](const Request& request) {
                                 return request.sequence >= kImportedSequence &&
                                        request.answer.code == LockCode::Granted &&
                                        request.answer.token == lock.holders[0].token &&
                                        request.arguments == import_arguments(name);
                               });
  }

  bool plain(const Lock& lock) const {
    const bool waits = std::ranges::all_of(lock.queue, [](const Waiter& waiter) {
      return pack_ask(waiter.ask) == 0 && !waiter.noted;
    });
    return !lock.shared() && lock.hold_count == 1 && !lock.noted && lock.delay_ms == 0 &&
           !lock.delayed && alive(lock.holders[0].session) && waits;
  }

  // The session that came with a lock, if it can hold anything here.
  Session* receive(const MovedSession& moved) {
    const std::uint64_t id = moved.session.value;
    if (!sessions_.contains(id)) {
      sessions_[id].serial = ++serial_last_;
    }
    return sessions_[id].dying ? nullptr : &sessions_[id];
  }

  Answer move_in(const LockCommand& command) {
    const Key name = key(command.name_hash);
    if (locks_.contains(name) || names_.contains(name)) {
      if (moves_of(command.name_hash) >= move_number(command)) {
        return {LockCode::MovedIn};
      }
      if (!is_away(name)) {
        return {LockCode::MoveRefused};
      }
    }
    have_keeper();
    token_last_ = std::max(token_last_, moved_token_last(command));
    names_[name] = {move_number(command), false, 0};
    Lock& lock = locks_[name];
    lock.marked = true;
    for (std::uint32_t i = 0; i < moved_count(command); ++i) {
      const MovedSession moved = moved_session(command, i);
      Session* session = receive(moved);
      const std::uint64_t id = moved.session.value;
      if (session != nullptr && i == 0) {
        lock.holders.push_back({id, command.token.value, 0});
        session->holds.push_back({name});
      } else if (session != nullptr && make_room(*session)) {
        const std::uint64_t sequence = kImportedSequence | index_ << 11 | i;
        session->requests.push_back({sequence, import_arguments(name), {LockCode::Waiting}});
        lock.queue.push_back({id, sequence, {}, index_, false});
      }
    }
    wake(name);
    return {LockCode::MovedIn};
  }

  Answer move_done(const LockCommand& command) const {
    const bool known = moves_of(command.name_hash) >= move_number(command);
    return {known ? LockCode::MoveSealed : LockCode::MoveRefused};
  }
};

}  // namespace gcoord::locks
