// The bounds of groups. docs/reference/limits.md repeats them for readers.
//
// The first six are part of what replicas agree on: every node of a cluster applies the same
// numbers, so a later version may change one only behind a feature bit.
#pragma once

#include <cstdint>

namespace gcoord::membership {

inline constexpr std::uint32_t kGroupNameBytesMax = 256;
inline constexpr std::uint32_t kMemberIdBytesMax = 64;
inline constexpr std::uint32_t kMemberPayloadBytesMax = 512;

// Members of one group, and sessions of one barrier. A whole view stays far below a frame (1 MiB).
inline constexpr std::uint32_t kGroupMembersMax = 256;

// Who stands in one group: members, and sessions that wait at its barrier without being members.
inline constexpr std::uint32_t kGroupParticipantsMax = 2 * kGroupMembersMax;

// Groups of one shard. Far more than a leader proposes: what was under way when it looked is
// applied, too, and no state of a shard may be one that nobody reads.
inline constexpr std::uint32_t kGroupsPerShardMax = 65'536;

// Of one node, checked by the leader before it proposes: 40 MiB of members, 5 MiB of groups.
inline constexpr std::uint32_t kGroupsPerNodeMax = 16'384;
inline constexpr std::uint32_t kParticipantsPerNodeMax = 65'536;

}  // namespace gcoord::membership
