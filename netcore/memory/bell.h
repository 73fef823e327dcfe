// A bell: a word in page-locked memory by which a kernel calls a thread of the host.
//
// A kernel cannot write to a descriptor. It pushes a count into host memory, and a host thread that
// looks there makes a descriptor readable (bell_watch.h), so that whoever sleeps on that in an
// event loop wakes up. Each bell has one ringer at a time, which counts; so nothing is lost however
// late the host looks, and no atomics are needed that a device and a host do not share (O8 of
// docs/internals/memory_order.md). What the ringer wrote before is visible to whoever takes the
// ring.
//
// Host and device.
#pragma once

#include "common/device/member_group.h"
#include "common/hd.h"
#include "netcore/memory/order.h"

#include <cstdint>

namespace gcoord::netcore {

// One end of one bell, in registers: open one per kernel and not one per ring, since that reads
// across PCIe.
template <typename Members = WarpMembers>
class BellRinger {
 public:
  GCOORD_HD explicit BellRinger(std::uint64_t* bell)
      : bell_(bell), rings_(SystemOrder::own(*bell)) {}

  // By all members; what all of them wrote before is visible to the host (O1). Never waits.
  GCOORD_HD void ring() {
    ++rings_;
    Members::sync();
    if (Members::rank() == 0) {
      SystemOrder::publish(*bell_, rings_);
    }
  }

  // Of all ringers of this bell so far.
  GCOORD_HD std::uint64_t rings() const { return rings_; }

 private:
  std::uint64_t* bell_;
  std::uint64_t rings_;
};

}  // namespace gcoord::netcore
