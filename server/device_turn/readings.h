// Readings of a node's clock, from the group that writes them (clock.h) to the stripes that copy
// them.
//
// A reading is longer than any word that a machine stores at once, so the places are a ring with a
// sequence: reading `version` lies at version % kTurnInputs, and the clock waits for nobody. A
// stripe whose copy took so long that the clock came round finds that out by a second look at the
// sequence and copies again. Orders (docs/internals/memory_order.md): the reader fences between its
// copy and the second look, the writer between publishing a reading and writing over an older one;
// so whoever copied a word of reading v + kTurnInputs sees at least v + kTurnInputs - 1 published.
// On a host one thread drives clock and stripes, one after the other. Host and device.
#pragma once

#include "common/device/memory_device.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "netcore/memory/order.h"
#include "server/device_turn/view.h"

#include <cstdint>

namespace gcoord::server {

// Of no reading.
inline constexpr std::uint64_t kNoReading = 0;

// Copies before a stripe gives way and begins with the clock's next look: the clock came round as
// often, which a group that has its device to itself never sees.
inline constexpr std::uint32_t kReadingCopies = 4;

// Whether a copy of reading `version` may have words of a later one, if `newest` was published when
// it ended: the clock may be writing the reading after that.
GCOORD_HD constexpr bool may_be_overwritten(std::uint64_t version, std::uint64_t newest) {
  return newest - version >= kTurnInputs - 1;
}

// By the writer after it published a reading and before it writes over an older one.
GCOORD_HD inline void before_overwrite() {
  fence_system();
}

// By the reader after its copy, and before it looks at the sequence again. Each pairs with the
// other.
GCOORD_HD inline void before_second_look() {
  fence_system();
}

// Copies the newest reading, if it is not `known`, by `copy(place)`, which all members call.
// Returns its version, or `known` if that is the newest; kNoReading: no copy was whole, and what
// was copied means nothing. All members call it.
template <typename Copy>
GCOORD_HD std::uint64_t copy_newest(TurnClock& clock, std::uint64_t known, const Copy& copy) {
  for (std::uint32_t tries = 0; tries < kReadingCopies; ++tries) {
    std::uint64_t version = 0;
    if (warp_rank() == 0) {
      version = netcore::SystemOrder::peek(clock.version);
      if (version != known) {
        // Pairs with NodeClock::publish_reading; the others read after the sync.
        version = netcore::SystemOrder::observe(clock.version);
      }
    }
    version = warp_broadcast(version, 0);
    if (version == known) {
      return known;
    }
    warp_sync();
    copy(clock.input[version % kTurnInputs]);
    warp_sync();
    std::uint64_t newest = 0;
    if (warp_rank() == 0) {
      before_second_look();
      newest = netcore::SystemOrder::peek(clock.version);
    }
    if (!may_be_overwritten(version, warp_broadcast(newest, 0))) {
      return version;
    }
  }
  return kNoReading;
}

}  // namespace gcoord::server
