// Several locks of one session, all or none.
//
// Names are locked one after another in an order that is the same for everybody (the shard of the
// name, then its hash), so that two who want the same names never wait for each other. When one of
// them cannot be had within the wait, those taken before are given back, and nothing is held;
// while it waits for one it does hold those before it. If the program dies on the way, what it took
// ends with its session, as every lock does.
//
// Each lock has a fencing token of its own: pass the token of a name to what that name guards.
// Functions may be called from any thread; objects are moved and destroyed by one.
//
//  auto locks = session.acquire_all({"disks/1", "disks/2"}, {.wait = 5s});
//  if (locks.ok()) { write_with(*locks.value().fence("disks/1")); }
#pragma once

#include "gcoord/api.h"
#include "gcoord/session.h"
#include "gcoord/status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gcoord::client {

// Names that one MultiLock may have.
inline constexpr std::size_t kMultiLockNamesMax = 64;

// Made by Session::acquire_all. Each lock is given back when it is destroyed.
class GCOORD_API MultiLock {
 public:
  // The locks, in the order in which they were taken.
  const std::vector<Lock>& locks() const { return locks_; }

  // The fencing token of a name; nothing for a name that is not one of the locks. Pass it with
  // every write to the resource that the name guards.
  std::optional<std::uint64_t> fence(std::string_view name) const;

  // Whether all of the locks are held, by the client's clock. Asks no node.
  bool valid() const;

  // Releases all of the locks, the last one first. Returns the first failure, if there is one; the
  // other locks are released nevertheless.
  Status release();

  // The same without waiting; this object does not hold the locks any more.
  Future<Status> release_async();

  // Leaves them held; they live with their session.
  void detach();

 private:
  friend class Session;

  explicit MultiLock(std::vector<Lock> locks) : locks_(std::move(locks)) {}

  std::vector<Lock> locks_;
};

}  // namespace gcoord::client
