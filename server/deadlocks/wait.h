// One wait that may be part of a deadlock: who waits where, and for whom.
//
// A leader makes these from its lock tables for acquires whose clients said that their session
// gives nothing back meanwhile (protocol::RequestFlag::Blocks). Nothing in it comes twice: a wait
// is known by shard and the log index of its acquire, a hold by its token. So what is there at two
// moments was there all the time between them.
//
// A wait needs all of `holders` to let go, or any of them (`any`: it shares a lock and would come
// in beside the rest). Who stands behind somebody that wants the lock alone needs all, too.
//
//   u32 shard, u64 session, u64 sequence, u64 log index, u32 waited_ms, u8 any, u8 zero,
//   u16 name bytes, name, u32 count, then {u64 session, u64 token} each
//
// Pure; thread-safe over tables that nobody changes meanwhile.
#pragma once

#include "common/bytes.h"
#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

struct DeadlockHolder {
  SessionId session;
  FencingToken token;
};

struct DeadlockWait {
  ShardId shard;
  SessionId session;
  RequestSequence sequence;
  LogIndex enqueued_at;
  std::uint32_t waited_ms = 0;  // As its leader measured it.
  bool any = false;
  std::string name;  // Of the lock; empty where it is not needed.
  std::vector<DeadlockHolder> holders;
};

// Waiters of one queue that are looked at before one; one behind more is not described.
inline constexpr std::uint32_t kDeadlockQueueMax = 4096;

// The wait of this request as the tables have it; none when it does not wait, or when it or one
// that it waits for ends anyhow, because the session's end was decided.
std::optional<DeadlockWait> describe_wait(const locks::LockCpu& locks,
                                          ShardId shard,
                                          SessionId session,
                                          RequestSequence sequence);

// Whether the tables still have it: the same wait, and those of its holders that keep it waiting.
// Fills in the name.
bool still_waits(const locks::LockCpu& locks, DeadlockWait& wait);

// Whether the session holds anything in any shard of this node.
bool holds_anything(const locks::LockCpu& locks, SessionId session);

void write_wait(ByteWriter& writer, const DeadlockWait& wait);
DeadlockWait read_wait(ByteReader& reader);

// What write_wait() writes.
std::size_t wait_bytes(const DeadlockWait& wait);

}  // namespace gcoord::server
