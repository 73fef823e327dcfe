// The changes by which a cluster begins with rights checked (security/roles/first_admin.h).
//
// The leader of shard 0 proposes them, one after the other, until the log has both; whoever leads
// next goes on. They wait until all nodes have Feature::Roles, and the nodes decide as though they
// had been made meanwhile. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "server/access/cookies.h"
#include "server/access/machine.h"
#include "server/interfaces/replicated_log.h"

#include <cstdint>
#include <functional>

namespace gcoord::server {

class FirstRights {
 public:
  // Between two attempts, where one was lost or the nodes are not ready.
  static constexpr std::uint64_t kEveryMs = 100;

  // All outlive it.
  struct Environment {
    ReplicatedLog& log;
    const AccessMachine& machine;
    std::function<bool()> all_have;  // Whether all nodes have Feature::Roles.
    std::function<std::uint64_t()> wall_ms;
  };

  explicit FirstRights(Environment environment) : environment_(std::move(environment)) {}

  // Once per pass. `now_ms`: of the node's clock, which only grows.
  void advance(std::uint64_t now_ms);

  // The proposal of this cookie has ended, one way or the other.
  void on_ended(std::uint64_t cookie) { proposed_ = proposed_ == cookie ? 0 : proposed_; }

  // For how many milliseconds the loop may sleep for the sake of advance(); ~0: for ever.
  std::uint64_t until_next_deadline_ms() const;

 private:
  bool may_propose() const;

  Environment environment_;
  AccessCookies cookies_{AccessProposer::First};
  std::uint64_t proposed_ = 0;  // The cookie of the proposal under way; 0: none.
  std::uint64_t now_ms_ = 0;
  std::uint64_t next_ms_ = 0;
};

}  // namespace gcoord::server
