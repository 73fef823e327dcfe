// Room on a node's file system for what writes much: tables of the stores, segments of the log.
//
// A database that meets a full disk cannot be trusted to go on, and a log that meets one has
// failed. So both ask before they take space, and wait here instead of being refused there
// (ledger/space/guard.h). Any thread.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <functional>

namespace gcoord::ledger {

// What somebody waits for: `wanted_bytes`, but no longer than until there are `least_bytes`.
struct RoomWish {
  std::uint64_t wanted_bytes = 0;
  std::uint64_t least_bytes = 0;  // At most wanted_bytes.
  bool makes_file = false;        // Of a file that is not there yet.
  // Work that others do not wait for leaves them what is kept back, and more besides.
  bool can_wait = false;
  // Called without any lock where wanted_bytes are not there: before what is kept back is given
  // out, and about ten times a second while there is a wait. It may free some. A failure ends the
  // wait. Empty: nothing.
  std::function<Status()> meanwhile{};
};

class DiskRoom {
 public:
  DiskRoom() = default;
  virtual ~DiskRoom() = default;
  DiskRoom(const DiskRoom&) = delete;
  DiskRoom& operator=(const DiskRoom&) = delete;

  // Whether so many bytes may be taken ahead of their use, now.
  virtual bool has(std::uint64_t byte_count) = 0;

  // The disk has refused what seemed to have room, or had asked for none: gives out what is kept
  // back, or waits a moment, so that it may be tried again. False: nobody waits any more.
  virtual bool await_after_refusal() = 0;

  // Returns when there is room, however long that is, and how many bytes may be taken: wanted_bytes
  // where there are as many, else least_bytes. What is kept back for this is given out first.
  // Aborted: nobody waits any more, the node ends; else the failure of `meanwhile`.
  virtual Result<std::uint64_t> await_room(const RoomWish& wish) = 0;

  // The same for exactly so many.
  Status await(std::uint64_t byte_count) {
    return await_room({.wanted_bytes = byte_count, .least_bytes = byte_count}).status();
  }
};

}  // namespace gcoord::ledger
