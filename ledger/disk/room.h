// Room on a node's file system for what writes much: tables of the stores, segments of the log.
//
// A database that meets a full disk cannot be trusted to go on, and a log that meets one has
// failed. So both ask before they take space, and wait here instead of being refused there
// (ledger/space/guard.h). Any thread.
#pragma once

#include "common/status.h"

#include <cstdint>

namespace gcoord::ledger {

class DiskRoom {
 public:
  DiskRoom() = default;
  virtual ~DiskRoom() = default;
  DiskRoom(const DiskRoom&) = delete;
  DiskRoom& operator=(const DiskRoom&) = delete;

  // Whether so many bytes may be taken ahead of their use, now.
  virtual bool has(std::uint64_t byte_count) = 0;

  // Returns when so many bytes may be taken, however long that is: what is kept back for this is
  // given out first. Aborted: nobody waits any more, the node ends.
  virtual Status await(std::uint64_t byte_count) = 0;
};

}  // namespace gcoord::ledger
