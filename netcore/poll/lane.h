// Using a lane end that a poll set reported, so that its entry and the end stay in step.
//
//   receive_polled(set.entry(i), receiver, 32, [&](const SlotTile& tile) { ... });
//   const Reservation place = reserve_polled(set.entry(i), sender);
//
// An entry has a copy of its end's cursors, by which it is looked at. These calls bring the copy up
// to date; whoever uses the end otherwise calls keep_up(). An entry that was forgotten shows the
// end as it was: ready although its slot was taken, or broken by a grant that it does not know of.
//
// They also settle the one lie that a level allows. The peer owns nothing but may write into the
// memory that was looked at: it can take back a slot or a grant between the look and the use. What
// was reported at a cursor, and is not there at that same cursor, is counted (bad_field) and resets
// the channel, so nobody wakes up for nothing again and again. Who asks for other room than what
// was reported accuses nobody. The same calls are right where Err was reported: a look only looks,
// and the end that is asked judges, counts and resets.
//
// Contract: as the lane ends, called by all members of the group. Host and device.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"
#include "netcore/gpu_channel/lane_receiver.h"
#include "netcore/gpu_channel/lane_sender.h"
#include "netcore/poll/entry.h"

#include <cstdint>

namespace gcoord::netcore {

// The entry as its end now stands.
GCOORD_HD inline void keep_up(PollEntry& entry, const LaneReceiver& receiver) {
  warp_sync();
  if (warp_rank() == 0) {
    follow(entry.target.receiver, receiver.state());
  }
  warp_sync();
}

GCOORD_HD inline void keep_up(PollEntry& entry, const LaneSender& sender) {
  warp_sync();
  if (warp_rank() == 0) {
    follow(entry.target.sender, sender.state());
  }
  warp_sync();
}

// Polls the lane once, gives what came to `f(tile)` if anything did, and releases it. The number of
// slots.
template <std::uint32_t kSlots = kTileSlots, typename Function>
GCOORD_HD std::uint32_t receive_polled(PollEntry& entry,
                                       LaneReceiver& receiver,
                                       std::uint32_t slots_max,
                                       Function&& f) {
  GCOORD_ASSERT(slots_max != 0);
  const std::uint64_t cursor = receiver.state().credit.received;
  const bool reported = was_reported(entry, cursor);
  const SlotTile tile = receiver.poll<kSlots>(slots_max);
  if (tile.slot_count != 0) {
    f(tile);
  } else if (reported && receiver.state().credit.received == cursor) {
    receiver.on_vanished();
  }
  receiver.release(tile);
  keep_up(entry, receiver);
  return tile.slot_count;
}

// The room that the entry asks for, or none: as much of it as a group moves at once, which is all
// of it on a device and one slot on a host; the end has the rest for the reserves that follow. A
// wish that cannot be met finds none. To be published; cancel() wants a keep_up().
GCOORD_HD inline Reservation reserve_polled(PollEntry& entry, LaneSender& sender) {
  const SenderView& wants = entry.target.sender;
  const bool reported = was_reported(entry, sender.state().credit.sent);
  Reservation place{sender.state().credit.sent, 0, 0, sender.state().payload_sent};
  if (!can_be_ready(wants)) {
    return place;
  }
  if (sender.has_room_for(wants.slots_min, wants.kind)) {
    const std::uint32_t at_once = wants.slots_min < warp_lanes() ? wants.slots_min : warp_lanes();
    place = sender.reserve(at_once, wants.payload_bytes, wants.kind);
  }
  if (place.slot_count == 0 && reported) {
    sender.on_vanished();
  }
  keep_up(entry, sender);
  return place;
}

}  // namespace gcoord::netcore
