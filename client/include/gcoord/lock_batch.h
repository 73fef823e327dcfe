// Many locks of one session in one call: each name is a command of its own, with a result of its
// own.
//
// Session::acquire_many and Session::release_many hand all commands of a batch to the client's
// thread at once, so that they leave in one frame for each node that leads shards of the batch, and
// the node answers those that it decides together in one frame. The call returns when every command
// has ended; each ends by its own deadline, so the slowest name bounds the call. Some names may
// succeed while others fail: look at each result. For all or none take Session::acquire_all
// (gcoord/multi_lock.h), which also keeps the order that rules out deadlocks between batches; a
// batch keeps no order, so do not wait for locks (AcquireOptions::wait) in a batch while others
// wait for yours, or set AcquireOptions::detect_deadlock.
//
// Every command has a number of its own in its session and shard, so a retry is executed once, as
// for single calls. Of one session a shard takes 32 unanswered commands at a time: those of a batch
// beyond that leave when the first are answered. A batch that does not fit a frame of 1 MiB leaves
// in several.
//
// Plain values; no thread rules.
//
//  auto outcomes = session.acquire_many({"disks/1", "disks/2", "disks/3"});
//  if (!outcomes.ok()) { return outcomes.status(); }  // Nothing was sent.
//  auto locks = granted(std::move(outcomes).value());
//  ...
//  auto released = session.release_many(locks);
#pragma once

#include "gcoord/api.h"
#include "gcoord/session.h"
#include "gcoord/status.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace gcoord::client {

// Names that one batch may have (GC6706).
inline constexpr std::size_t kLockBatchNamesMax = 4096;

// The locks that were granted, in their order. The failures are dropped.
inline std::vector<Lock> granted(std::vector<Result<Lock>> outcomes) {
  std::vector<Lock> locks;
  for (Result<Lock>& outcome : outcomes) {
    if (outcome.ok()) {
      locks.push_back(std::move(outcome).value());
    }
  }
  return locks;
}

}  // namespace gcoord::client
