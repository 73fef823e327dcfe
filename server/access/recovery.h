// Switching rights off by a majority of nodes that have a marker file (recovery_file.h), for a
// cluster in which nobody can prove to be its administrator any more.
//
// A node with a marker says so to the others about once a second. The leader of shard 0 counts the
// markers of the voters that it has heard lately, its own too, by the configuration of shard 0;
// once they are a quorum it proposes the command Recover with their numbers. A node whose marker's
// number is in the table's last recovery removes it: a marker counts once. So it takes the files of
// a majority, which could as well begin a new cluster, and the ledger says which nodes they were.
// One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "security/roles/role_apply.h"
#include "server/access/cookies.h"
#include "server/access/machine.h"
#include "server/interfaces/replicated_log.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

// First byte of the peer message. Never renumber.
inline constexpr std::byte kRecoveryKind{144};

// Message: kind 1, version 1, the marker's number 8.
std::vector<std::byte> encode_recovery_vote(std::uint64_t number);
std::optional<std::uint64_t> decode_recovery_vote(std::span<const std::byte> message);

// The marker of this node's data directory (recovery_file.h).
struct OwnMarker {
  std::optional<std::uint64_t> number;  // None: there is none.
  std::function<void()> remove;
};

class AccessRecovery {
 public:
  static constexpr std::uint64_t kSayEveryMs = 500;
  // A marker that was heard counts so long: some of what is said may be lost.
  static constexpr std::uint64_t kVoteMs = 5'000;

  // All outlive it.
  struct Environment {
    ReplicatedLog& log;
    const AccessMachine& machine;
    std::function<bool()> all_have;  // Whether all nodes have Feature::Roles.
    std::function<std::uint64_t()> wall_ms;
    NodeId self;
  };

  AccessRecovery(Environment environment, OwnMarker marker)
      : environment_(std::move(environment)), marker_(std::move(marker)) {}

  // Once per pass. `now_ms`: of the node's clock, which only grows.
  void advance(std::uint64_t now_ms);

  // What comes from outside; false: it did not decode.
  bool hear(NodeId from, std::span<const std::byte> message);

  // The proposal of this cookie has ended, one way or the other.
  void on_ended(std::uint64_t cookie) { proposed_ = proposed_ == cookie ? 0 : proposed_; }

  // For how many milliseconds the loop may sleep for the sake of advance(); ~0: for ever.
  std::uint64_t until_next_deadline_ms() const;

 private:
  struct Vote {
    std::uint64_t number = 0;
    std::uint64_t heard_ms = 0;
  };

  void spend();
  void say();
  std::vector<security::RecoveryMark> quorum() const;
  void propose(std::vector<security::RecoveryMark> marks);

  Environment environment_;
  OwnMarker marker_;
  std::map<NodeId, Vote> votes_;  // Of voters of shard 0 alone, so it is bounded.
  AccessCookies cookies_{AccessProposer::Recovery};
  std::uint64_t proposed_ = 0;  // The cookie of the proposal under way; 0: none.
  std::uint64_t now_ms_ = 0;
  std::uint64_t next_ms_ = 0;
};

}  // namespace gcoord::server
