// The columns of the lock service: one set per node serves all of its shards.
//
// A shard costs one 40-byte row; everything else lives in pools that the shards share: locks that
// are held, sessions that are registered, requests that wait or whose reply is kept, and blocks of
// name bytes. A lock has a record only while it is held (a lock with waiters is held). Rows link to
// each other by number: a shard to its sessions, a session to the locks it holds and to its
// requests, a lock to its queue. Which row a record gets differs between replicas; nothing that
// leaves the node depends on it.
//
// LockTables is a plain view, copied by value into a step or a kernel. One writer per shard: a
// node's one thread, or on a device one thread for each shard of a turn (locks/parallel/writer.h),
// all of them with the same columns and each with its own windows of the pools. A free row says so
// (no holder, no session, kNoShard), so that no other writer takes it for one in use. Host and
// device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/ids.h"
#include "common/name_hash.h"
#include "common/random.h"
#include "common/tables/hash_index.h"
#include "common/tables/row_pool.h"
#include "locks/commands/limits.h"
#include "locks/commands/reply.h"
#include "sessions/record.h"
#include "sessions/registrations.h"

#include <cstdint>

namespace gcoord::locks {

// Sessions and their requests are those of every machine (sessions/record.h); what one of them
// holds here is locks.
using sessions::find_session;
using sessions::is_imported;
using sessions::kImportedSequence;
using sessions::kKeeperSession;
using sessions::kNoShard;
using sessions::kSequenceAheadMax;
using sessions::kSessionRequestsMax;
using sessions::RequestRow;
using sessions::SessionPhase;
using sessions::SessionRecord;

using LockRow = sessions::HeldRow;
using NameBlockRow = StrongId<struct NameBlockRowTag, std::uint32_t>;

// Locks that one ExpireSession or CloseSession releases: bounds the work of a command, so
// that a huge session does not stall the rest (S4 of docs/reference/services.md).
inline constexpr std::uint32_t kReleasesPerCommandMax = 64;

struct LockShardRow {
  std::uint64_t token_last = 0;   // The newest fencing token; tokens of all names come from here.
  std::uint64_t state_hash = 0;   // Chain over commands and replies; equal on replicas.
  std::uint32_t serial_last = 0;  // The newest registration's serial.
  SessionRow session_first;
  std::uint32_t session_count = 0;
  std::uint32_t lock_count = 0;
  std::uint32_t waiter_count = 0;
};

static_assert(sizeof(LockShardRow) == 40);

// Two sectors of a device's memory.
struct alignas(16) LockRecord {
  NameHash name_hash;
  FencingToken token;
  LogIndex granted_at;  // Log index of the command that made this session the holder.
  ShardId shard = kNoShard;
  SessionRow holder;  // 0 in a row that is free.
  LockRow hold_next;
  LockRow hold_previous;
  RequestRow queue_first;  // Waiting acquires in log order.
  RequestRow queue_last;
  std::uint32_t waiter_count = 0;
  NameBlockRow name_first;
};

static_assert(sizeof(LockRecord) == 64);

// A request of a session: the stored reply of a finished one, or a waiter in a lock's queue.
struct alignas(16) RequestRecord {
  RequestSequence sequence;
  FencingToken token;
  SessionId holder;      // Of a Busy or NotHolder reply.
  LogIndex enqueued_at;  // Of a waiter: log index of its acquire.
  SessionRow session_row;
  RequestRow next;  // Towards the newest request of the session.
  RequestRow previous;
  LockRow lock;  // Of a waiter: the lock it waits for.
  RequestRow queue_next;
  RequestRow queue_previous;
  std::uint32_t argument_hash = 0;
  LockCode code = LockCode::None;

  GCOORD_HD bool waits() const { return code == LockCode::Waiting; }
};

static_assert(sizeof(RequestRecord) == 64);

// Names of up to 28 bytes take one block; 1,024 bytes take 37. The first byte is the lowest of the
// first word.
struct alignas(16) NameBlock {
  static constexpr std::uint32_t kWords = 7;
  static constexpr std::uint32_t kBytes = kWords * 4;
  // In place of a next row: this block is the last one, and the rest says how many bytes it holds.
  static constexpr std::uint32_t kEnd = 1u << 31;

  std::uint32_t next = kEnd;
  std::uint32_t words[kWords] = {};
};

static_assert(sizeof(NameBlock) == 32);

// Bit of LockRecord::name_first: a block with more about the lock comes before its name
// (lock_extra.h).
inline constexpr std::uint32_t kNameMarked = 1u << 31;

// With kNameMarked: the record is no lock but one holder's share of one (lock_share.h).
// Without a lock's row behind it: it remembers a hold that was broken (lock_broken.h).
inline constexpr std::uint32_t kNameShare = 1u << 30;

GCOORD_HD inline bool is_share(const LockRecord& lock) {
  return (lock.name_first.value & kNameMarked) != 0 && (lock.name_first.value & kNameShare) != 0;
}

GCOORD_HD inline bool is_marked(const LockRecord& lock) {
  return (lock.name_first.value & kNameMarked) != 0;
}

struct LockTables {
  LockShardRow* shards = nullptr;
  std::uint32_t shard_count = 0;
  std::uint64_t index_seed = 0;  // Keys the two indexes; differs per node, unknown to clients.
  RowPool<LockRecord, LockRow> locks;
  RowPool<SessionRecord, SessionRow> sessions;
  RowPool<RequestRecord, RequestRow> requests;
  RowPool<NameBlock, NameBlockRow> name_blocks;
  MovingIndex lock_index;
  MovingIndex session_index;
  std::uint64_t* waiter_count = nullptr;  // Of all shards of the writer; for admission.
  // The chain (chain.h) leaves out what groups answered. A device does not know it, so its host's
  // chain must not have it either: all nodes of a cluster say the same for its whole life.
  bool group_answers_apart = false;

  GCOORD_HD LockShardRow& shard(ShardId id) const {
    GCOORD_ASSERT(id.value < shard_count);
    return shards[id.value];
  }

  GCOORD_HD std::uint32_t lock_hash(ShardId shard_id, NameHash name) const {
    return static_cast<std::uint32_t>(
        mix64(name.low ^ mix64(name.high ^ index_seed ^ shard_id.value)));
  }

  GCOORD_HD std::uint32_t session_hash(ShardId shard_id, SessionId session) const {
    return static_cast<std::uint32_t>(mix64(session.value ^ mix64(index_seed ^ shard_id.value)));
  }
};

// Whether a row is the lock of this name in this shard.
struct SameLock {
  const LockTables* tables;
  ShardId shard;
  NameHash name;

  GCOORD_HD bool operator()(std::uint32_t row) const {
    const LockRecord& record = tables->locks[LockRow{row}];
    return record.name_hash == name && record.shard == shard && !is_share(record);
  }
};

using SameSession = sessions::IsRegistration<LockTables>;

// The lock of this name in this shard, or none.
GCOORD_HD inline LockRow find_lock(const LockTables& tables, ShardId shard, NameHash name) {
  const std::uint32_t hash = tables.lock_hash(shard, name);
  return LockRow{tables.lock_index.find(hash, SameLock{&tables, shard, name})};
}

}  // namespace gcoord::locks
