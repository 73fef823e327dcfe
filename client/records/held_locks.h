// The handles of a session's holds in this program: several may stand for one hold, since a session
// that asks for what it has gets it again. Thread-safe.
//
// A release through any of them ends the hold for all, from when it is sent: a node may grant the
// lock to another session before the answer is back. A handle that goes away by itself takes the
// hold along only if it is the last one.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace gcoord::client {

class HeldLocks {
 public:
  void enter(std::string_view name, std::uint64_t token) {
    const std::lock_guard lock{mutex_};
    ++holds_[{token, std::string{name}}].handles;
  }

  // A handle is gone. True: it was the last one, and no release of the hold was answered.
  bool leave(std::string_view name, std::uint64_t token) {
    const std::lock_guard lock{mutex_};
    const auto hold = holds_.find({token, std::string{name}});
    if (hold == holds_.end() || --hold->second.handles > 0) {
      return false;
    }
    const bool held = !hold->second.answered;
    holds_.erase(hold);
    return held;
  }

  // A release of it is about to be sent.
  void end(std::string_view name, std::uint64_t token) {
    if (mark(name, token, &Hold::ended)) {
      any_ended_.store(true, std::memory_order_release);
    }
  }

  // A release of it was decided.
  void answer(std::string_view name, std::uint64_t token) { mark(name, token, &Hold::answered); }

  bool ended(std::string_view name, std::uint64_t token) const {
    if (!any_ended_.load(std::memory_order_acquire)) {
      return false;
    }
    const std::lock_guard lock{mutex_};
    const auto hold = holds_.find({token, std::string{name}});
    return hold != holds_.end() && hold->second.ended;
  }

 private:
  struct Hold {
    std::uint64_t handles = 0;
    bool ended = false;
    bool answered = false;
  };

  // False when no handle stands for it.
  bool mark(std::string_view name, std::uint64_t token, bool Hold::*what) {
    const std::lock_guard lock{mutex_};
    if (holds_.empty()) {
      return false;  // Before a key is made: whoever wants speed has no handles.
    }
    const auto hold = holds_.find({token, std::string{name}});
    if (hold == holds_.end()) {
      return false;
    }
    hold->second.*what = true;
    return true;
  }

  // Release, paired with the acquire in ended(): whoever asks is mostly told by it alone.
  std::atomic<bool> any_ended_{false};
  mutable std::mutex mutex_;                                     // Guards holds_.
  std::map<std::pair<std::uint64_t, std::string>, Hold> holds_;  // With a handle each, at least.
};

}  // namespace gcoord::client
