// The bounds of rendezvous. docs/reference/limits.md repeats them for readers.
//
// The first five are part of what replicas agree on: every node of a cluster applies the same
// numbers, so a later version may change one only behind a feature bit.
#pragma once

#include <cstdint>

namespace gcoord::membership {

inline constexpr std::uint32_t kRendezvousNameBytesMax = 256;
inline constexpr std::uint32_t kRendezvousPayloadBytesMax = 512;

// Members of one round. All of them, with the longest payloads, are a seventh of a frame (1 MiB).
inline constexpr std::uint32_t kRendezvousMembersMax = 256;

// Sessions that wait for one name: a round's worth, and as many to spare.
inline constexpr std::uint32_t kRendezvousWaitersMax = 2 * kRendezvousMembersMax;

// Names of one shard. Far more than a leader proposes: what was under way when it looked is
// applied, too, and no state of a shard may be one that nobody reads.
inline constexpr std::uint32_t kRendezvousPerShardMax = 65'536;

// Of one node, checked by the leader before it proposes: 40 MiB of waiting sessions and members.
inline constexpr std::uint32_t kRendezvousPerNodeMax = 16'384;
inline constexpr std::uint32_t kRendezvousSessionsPerNodeMax = 65'536;

}  // namespace gcoord::membership
