// One shard's groups as bytes: written from the tables, checked, and put back.
//
// Canonical: replicas that applied the same commands write the same bytes. Little-endian, without
// padding:
//
//   header       magic 4 "GGRP", version 2, bytes of the whole 4, epoch_last 8, generation_last 8,
//                state_hash 8, groups 4
//   group        name bytes 2, name, epoch 8, generation 8, barrier size 4, participants 4; newest
//                group first
//   participant  session 8, flags 1 (1: member, 2: arrived), id bytes 1, id, payload bytes 2,
//                payload; follow their group, oldest first; only members have texts
//
// Reading trusts nothing. Host only; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "membership/groups/group_table.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::membership {

inline constexpr std::uint32_t kGroupSnapshotMagic = 0x50524747;  // "GGRP" in memory order.
inline constexpr std::uint16_t kGroupSnapshotVersion = 1;

// Parsed. Texts point into the bytes.
struct GroupSnapshot {
  struct Participant {
    SessionId session;
    bool member = false;
    bool arrived = false;
    std::string_view id;
    std::string_view payload;
  };

  struct Group {
    std::string_view name;
    std::uint64_t epoch = 0;
    std::uint64_t generation = 0;
    std::uint32_t barrier_size = 0;
    std::vector<Participant> participants;
  };

  std::uint64_t epoch_last = 0;
  std::uint64_t generation_last = 0;
  std::uint64_t state_hash = 0;
  std::vector<Group> groups;
};

// A shard's whole state: that of its groups, if there is any, and behind it that of the lock
// machine. A state without groups is as it was before there were groups.
struct StateParts {
  std::span<const std::byte> groups;  // Empty: none.
  std::span<const std::byte> locks;
};

// Where the parts are. Bytes that say nothing of groups are all of the lock machine's.
StateParts split_state(std::span<const std::byte> state);

GroupSnapshot snapshot_of(const GroupTables& tables, ShardId shard);

void write_snapshot(const GroupSnapshot& snapshot, std::vector<std::byte>& bytes);

// DataLoss with the reason for what write_snapshot() could not have made.
Result<GroupSnapshot> parse_snapshot(std::span<const std::byte> bytes);

// The groups' part of a state from which a new cluster begins: epochs and generations count on from
// `lift` more, so that none is used twice; without sessions nobody stands in a group.
Result<std::vector<std::byte>> raise_snapshot(std::span<const std::byte> bytes,
                                              std::uint64_t lift,
                                              bool drop_sessions);

}  // namespace gcoord::membership
