// Times at which a witness heard of sessions last: all that it knows of them.
//
// A witness has no registrations, but it is one of the nodes whose acknowledgement renews a
// session, so it has to remember what it acknowledged: a session that it was not asked about since
// then has been silent for so long, and one that it never heard of since it began to listen. What
// it forgets makes it say less silence, never more, so no session ends early by that
// (docs/adr/0117). Two generations of at most count_max sessions together; the older one goes when
// the younger one is half of that, or as old as the longest TTL. One thread.
#pragma once

#include "common/ids.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace gcoord::server {

struct HeardOptions {
  std::size_t count_max = std::size_t{1} << 20;
  std::uint64_t ttl_ticks_max = 0;  // Of any session; what is older need not be known apart.
};

class HeardSessions {
 public:
  explicit HeardSessions(const HeardOptions& options) : options_(options) {}

  // From now on everything is heard. Later calls change nothing but forget what is too old.
  void listen(Tick now);

  // Before it is acknowledged. Times only grow.
  void note(SessionId session, Tick now);

  // At least how long the session has been silent; nothing before listen().
  std::optional<std::uint64_t> silent_ticks(SessionId session, Tick now) const;

  std::size_t count() const { return young_.size() + old_.size(); }

 private:
  using Heard = std::unordered_map<std::uint64_t, Tick>;

  void turn(Tick now);

  HeardOptions options_;
  std::optional<Tick> young_since_;
  Tick old_since_;  // Who is in neither generation was not heard after it.
  Heard young_;
  Heard old_;
};

}  // namespace gcoord::server
