// Record of a hold that was broken by force, kept until its holder has been notified.
//
// Such a record stands in the list of holds of a session that lives, and in the index under a hash
// of name and token, so that a release or a check by that token finds it in constant time. It has
// its own copy of the name, for the node to tell the session which lock it lost. It goes when the
// session's release has been answered with it, and with the session at the latest. Only an operator
// makes one, by breaking one hold.
//
// Contract: as lock_extra.h; the driver has reserved the rows. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/random.h"
#include "locks/state/names.h"
#include "locks/state/queue.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

inline constexpr std::uint32_t kNameBroken = kNameMarked | kNameShare;

GCOORD_HD inline bool is_broken(const LockRecord& lock) {
  return lock.name_first.value == kNameBroken;
}

// Under which name it is in the index. Neither SameLock nor SameShare finds it there.
GCOORD_HD inline NameHash broken_name(NameHash name, FencingToken token) {
  const std::uint64_t mixed = mix64(~token.value);
  return NameHash{mix64(name.low + mixed), mix64(name.high ^ mixed)};
}

// The first block of the name of the lock that was lost.
GCOORD_HD inline NameBlockRow lost_name(const LockRecord& broken) {
  GCOORD_ASSERT(is_broken(broken));
  return NameBlockRow{broken.queue_first.value};
}

struct SameBroken {
  const LockTables* tables;
  ShardId shard;
  NameHash name;

  GCOORD_HD bool operator()(std::uint32_t row) const {
    const LockRecord& record = tables->locks[LockRow{row}];
    return record.name_hash == name && record.shard == shard && is_broken(record);
  }
};

// What stays of the hold under this token, or none.
GCOORD_HD inline LockRow find_broken(const LockTables& tables,
                                     ShardId shard,
                                     NameHash name,
                                     FencingToken token) {
  const NameHash broken = broken_name(name, token);
  const std::uint32_t hash = tables.lock_hash(shard, broken);
  return LockRow{tables.lock_index.find(hash, SameBroken{&tables, shard, broken})};
}

// A hold that is gone, to be remembered with its session.
struct LostHold {
  ShardId shard;
  SessionRow session;
  FencingToken token;
  LogIndex broken_at;
};

GCOORD_HD inline LockRow keep_broken(const LockTables& tables,
                                     const LostHold& lost,
                                     const LockName& name) {
  const LockRow row = tables.locks.take();
  LockRecord& broken = tables.locks[row];
  broken.name_hash = broken_name(name.hash, lost.token);
  broken.token = lost.token;
  broken.granted_at = lost.broken_at;
  broken.shard = lost.shard;
  broken.name_first = NameBlockRow{kNameBroken};
  broken.queue_first = RequestRow{store_name(tables, name.bytes, name.byte_count).value};
  link_holder(tables, row, lost.session);
  tables.lock_index.insert(tables.lock_hash(lost.shard, broken.name_hash), row.value);
  return row;
}

GCOORD_HD inline void drop_broken(const LockTables& tables, LockRow row) {
  LockRecord& broken = tables.locks[row];
  unlink_holder(tables, row);
  tables.lock_index.erase(tables.lock_hash(broken.shard, broken.name_hash), row.value);
  release_name(tables, lost_name(broken));
  broken.holder = SessionRow{};
  broken.shard = kNoShard;
  broken.name_hash = NameHash{};
  broken.name_first = NameBlockRow{};
  broken.queue_first = RequestRow{};
  tables.locks.give_back(row);
}

}  // namespace gcoord::locks
