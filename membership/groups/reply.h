// The answer of the group machine to one command.
//
// It is a function of the shard's commands alone, so every replica has the same one. Code and
// numbers are kept in the session's window of requests, which answers a retry. Plain values; host
// and device.
#pragma once

#include "common/hd.h"

#include <cstdint>

namespace gcoord::membership {

// Never renumber: the codes are stored in snapshots.
enum class GroupCode : std::uint8_t {
  None = 0,
  Joined = 1,           // number is the rank.
  AlreadyMember = 2,    // The session is a member under this id; number is its rank. No change.
  MemberIdDiffers = 3,  // The session is a member under another id. No change.
  MemberIdTaken = 4,    // Another session is a member under this id. No change.
  GroupFull = 5,
  Left = 6,
  NotMember = 7,
  Updated = 8,
  Arrived = 9,       // At the barrier; epoch is the barrier's generation, number who arrived.
  Released = 10,     // The same, and it was the last one.
  SizeDiffers = 11,  // Others wait at the barrier for another size, which number is. No change.
  TimedOut = 12,     // Its arrival was taken back.
  NotArrived = 13,   // To a withdrawal: the barrier was released before. No change.
  Malformed = 14,    // No command of this version. No change.
  ShardFull = 15,    // The shard has kGroupsPerShardMax others. No change.
};

// What stands for an operation that was done, or done before.
GCOORD_HD constexpr bool is_success(GroupCode code) {
  return code == GroupCode::Joined || code == GroupCode::AlreadyMember || code == GroupCode::Left ||
         code == GroupCode::Updated || code == GroupCode::Arrived || code == GroupCode::Released;
}

struct GroupReply {
  GroupCode code = GroupCode::None;
  std::uint64_t epoch = 0;   // Of the group; of Arrived and Released the barrier's generation.
  std::uint32_t number = 0;  // See the codes.
};

}  // namespace gcoord::membership
