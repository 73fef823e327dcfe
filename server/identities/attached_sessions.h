// The sessions that a connection speaks for: those that it opened, and those whose key it has
// shown.
//
// A set of ids, open addressing with linear probing (Knuth, TAOCP 3, 6.4), 8 bytes a place and at
// most half of the places used; it grows by doubling and is empty until the first session. Bounded:
// kAttachedMax for one connection, and a budget for all connections of a node. One thread.
#pragma once

#include "common/ids.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::server {

// As many as keep-alives of two full lists name.
inline constexpr std::size_t kAttachedMax = 131'072;

// Of all connections of a node: 64 MiB. The last quarter is for connections with fewer than
// kAttachedFew, so that nobody takes these from others by attaching one session many times.
inline constexpr std::size_t kAttachedOfNodeMax = std::size_t{4} << 20;

inline constexpr std::size_t kAttachedFew = 256;

// How many a node's connections have; outlives their sets.
struct AttachmentBudget {
  std::size_t used = 0;
  std::size_t max = kAttachedOfNodeMax;

  // Whether a connection that has `count` may have one more.
  bool has_room(std::size_t count) const {
    return used < (count < kAttachedFew ? max : max - max / 4);
  }
};

class AttachedSessions {
 public:
  // `budget` may be nullptr: the set alone is bounded.
  explicit AttachedSessions(AttachmentBudget* budget = nullptr) : budget_(budget) {}

  ~AttachedSessions();
  AttachedSessions(const AttachedSessions&) = delete;
  AttachedSessions& operator=(const AttachedSessions&) = delete;

  // False: there is no room. True if it is there already. The id is not 0.
  bool add(SessionId session);

  void remove(SessionId session);

  bool contains(SessionId session) const;

  std::size_t size() const { return count_; }

 private:
  std::size_t place_of(std::uint64_t id) const;
  void grow();

  AttachmentBudget* budget_;
  std::vector<std::uint64_t> places_;  // 0: free.
  std::size_t count_ = 0;
};

}  // namespace gcoord::server
