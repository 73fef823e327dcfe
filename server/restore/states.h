// Service states in a snapshot, and their conversion for a new cluster: the one place outside a
// running node that knows the layout of a service's bytes. Pure; thread-safe.
#pragma once

#include "common/status.h"
#include "locks/cpu/move_survey.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

// Of one shard.
struct StateSummary {
  std::uint64_t sessions = 0;  // Registered in this shard.
  std::uint64_t locks = 0;     // Held.
  std::uint64_t waiters = 0;
  std::uint64_t groups = 0;          // In which somebody stands.
  std::uint64_t token_last = 0;      // The newest that was granted.
  std::uint32_t ordinal_newest = 0;  // Of the node starts that its sessions were opened in.
};

// DataLoss (kSnapshotImpossible) for what no node would have given.
Result<StateSummary> summarize_state(std::span<const std::byte> state);

// The part of a state that is the lock machine's: what moves of locks are looked for in.
std::span<const std::byte> lock_state_of(std::span<const std::byte> state);

struct StateChange {
  std::uint64_t token_bump = 0;   // Tokens that count as granted after the snapshot.
  std::uint64_t token_floor = 0;  // Counted from it where the snapshot says fewer.
  bool drop_sessions = false;
  std::span<const locks::MoveFix> fixes{};  // First of all.
};

// The state that a new cluster begins with. OutOfRange (kRestoreRefused) when the shard has not so
// many tokens left.
Result<std::vector<std::byte>> restored_state(std::span<const std::byte> state,
                                              const StateChange& change);

}  // namespace gcoord::server
