// What LockModel (lock_model.h) is made of: locks, sessions, requests and moved names as one would
// first write them down.
#pragma once

#include "locks/commands/hold.h"
#include "locks/commands/reply.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace gcoord::locks {

struct LockModelParts {
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

  using Key = std::pair<std::uint64_t, std::uint64_t>;

  struct Request {
    std::uint64_t sequence = 0;
    std::uint32_t arguments = 0;
    Answer answer;
  };

  // A lock that is held, or what stays of a hold that was broken.
  struct Hold {
    Key name;
    std::uint64_t broken_token = 0;

    friend bool operator==(const Hold&, const Hold&) = default;
  };

  struct Session {
    std::uint32_t serial = 0;
    std::uint64_t acked_below = 1;
    std::uint64_t forgotten_below = 1;
    bool dying = false;
    bool failed = false;
    std::vector<Request> requests;  // By the time of their latest answer.
    std::vector<Hold> holds;        // Newest last.
    std::vector<Key> delayed;       // Locks that stay for their delay.
  };

  struct Holder {
    std::uint64_t session = 0;
    std::uint64_t token = 0;
    std::uint32_t permits = 0;  // 0: alone.
  };

  struct Waiter {
    std::uint64_t session = 0;
    std::uint64_t sequence = 0;
    HoldOptions ask;
    std::uint64_t index = 0;
    bool noted = false;
  };

  // A name that was moved.
  struct Name {
    std::uint32_t number = 0;
    bool away = false;
    std::uint64_t to = 0;
  };

  struct Lock {
    std::vector<Holder> holders;  // By their tokens.
    std::uint32_t limit = 0;
    std::uint32_t hold_count = 1;
    std::deque<Waiter> queue;
    bool marked = false;
    std::uint32_t delay_ms = 0;
    bool delayed = false;  // The holder failed.
    bool noted = false;

    bool shared() const { return !holders.empty() && holders[0].permits != 0; }

    Holder* of(std::uint64_t session) {
      const auto found = std::find_if(holders.begin(), holders.end(), [session](const Holder& h) {
        return h.session == session;
      });
      return found == holders.end() ? nullptr : &*found;
    }

    bool fits(const HoldOptions& ask) const {
      std::uint32_t used = 0;
      for (const Holder& holder : holders) {
        used += holder.permits;
      }
      return holders.empty() || (shared() && limit == ask.limit && holders.size() < kHoldersMax &&
                                 (ask.limit == 0 || used + ask.permits <= ask.limit));
    }
  };
};

}  // namespace gcoord::locks
