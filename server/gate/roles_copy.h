// Age of this node's copy of the roles, which are state of shard 0.
//
// While rights are checked the shard's leader is asked four times in an election timeout, whether
// anything happens or not: else the first change after a silence would find the copy too old. One
// thread, the node's loop.
#pragma once

#include "server/reads/replica_ages.h"

#include <cstdint>

namespace gcoord::server {

class RolesCopy {
 public:
  // `ages` outlives it. `limit_us`: the election timeout.
  RolesCopy(ReplicaAges& ages, std::uint64_t limit_us) : ages_(ages), limit_us_(limit_us) {}

  // Whether the copy shows all that was acknowledged longer than the limit ago.
  bool confirmed(std::uint64_t now_us) const;

  // The node has begun without anything of the shard, as one does that joins, or has lost its
  // state.
  void begin_missing() { missing_ = true; }

  // Whether it has not had a copy yet: whether rights are checked is not known then.
  bool missing(std::uint64_t now_us) const { return missing_ && !confirmed(now_us); }

  // Once per pass, while rights are checked, or may be.
  void advance(std::uint64_t now_us);

  // For how many milliseconds the loop may sleep for the sake of advance().
  std::uint64_t until_next_ms(std::uint64_t now_us) const;

 private:
  static constexpr std::uint64_t kQuestionsPerLimit = 4;

  ReplicaAges& ages_;
  std::uint64_t limit_us_;
  std::uint64_t next_us_ = 0;
  bool missing_ = false;
};

}  // namespace gcoord::server
