// Age of this node's copy of the roles, which are state of shard 0.
//
// While rights are checked the shard's leader is asked four times in an election timeout, whether
// anything happens or not: else the first change after a silence would find the copy too old. One
// thread, the node's loop.
#pragma once

#include "server/reads/replica_ages.h"

#include <cstdint>

namespace gcoord::server {

// What a node that has just begun knows of the roles.
enum class RolesStand : std::uint8_t {
  Known,        // A copy was confirmed, or its own directory had the roles.
  Unconfirmed,  // It has begun without a copy of the roles, which the cluster may have: in memory
                // mode, with a new directory, or with one whose shard it has forgotten.
  Joining,      // The same of one that joins a cluster, which is there.
};

// Who wants to know how a node is.
struct HealthReader {
  bool loopback = false;  // It is on the node's own host.
  bool proven = false;    // It has proven to be somebody, whose roles the node does not know.
};

// The rule of a node's ports while the roles are not known, for requests and pages that say how the
// node and its cluster are. A cluster without a majority has to be seen, by those who run it; and a
// node that joins has nothing to say of it yet.
inline bool may_see_health(RolesStand stand, HealthReader reader) {
  return stand == RolesStand::Unconfirmed && (reader.loopback || reader.proven);
}

class RolesCopy {
 public:
  // `ages` outlives it. `limit_us`: the election timeout.
  RolesCopy(ReplicaAges& ages, std::uint64_t limit_us) : ages_(ages), limit_us_(limit_us) {}

  // Whether the copy shows all that was acknowledged longer than the limit ago.
  bool confirmed(std::uint64_t now_us) const;

  // How the node has begun; Known until this is called.
  void begin(RolesStand stand) { stand_ = stand; }

  // Known from the first confirmed copy on that advance() has met, for good. Until then it is not
  // known whether rights are checked.
  RolesStand stand() const { return stand_; }

  // Once per pass, while rights are checked, or may be.
  void advance(std::uint64_t now_us);

  // For how many milliseconds the loop may sleep for the sake of advance().
  std::uint64_t until_next_ms(std::uint64_t now_us) const;

 private:
  static constexpr std::uint64_t kQuestionsPerLimit = 4;

  ReplicaAges& ages_;
  std::uint64_t limit_us_;
  std::uint64_t next_us_ = 0;
  RolesStand stand_ = RolesStand::Known;
};

}  // namespace gcoord::server
