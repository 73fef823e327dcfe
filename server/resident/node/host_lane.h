// The host's ends of one lane to a stripe of its device: requests go out, and events come in.
//
// An event is a reply, for a decided entry followed by the entry, and what is to be stored with a
// Store; no-ops of several rows come in one slot. A lane puts them together again, and says where
// the numbers in them cannot be (HostEventSlot::impossible): what a device writes is not believed.
// Lanes are looked at far more often than they bring anything, so a look at one where nothing has
// come costs one load. One thread pushes and one pulls, which may be two; each may be another one
// from one call to the next where a lock stands between.
#pragma once

#include "locks/commands/entry_layout.h"
#include "netcore/gpu_channel/device.h"
#include "server/device_turn/service.h"
#include "server/resident/node/names.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

// What a lane of the node brought its host: a reply, for a decided entry the entry, and what is to
// be stored with a Store. A no-op that came with others says nothing of state hash and room.
struct HostEventSlot {
  TurnReply reply;
  locks::LockEntry entry;
  std::vector<locks::LockEntry> stores;
  bool impossible = false;  // Counts or numbers in it that no device tells; nothing else is true.
};

class HostLane {
 public:
  // Of the host's end of the channel between node and host.
  HostLane(const netcore::GpuChannelDevice& end, std::uint32_t lane, const ResidentNames& names);

  // For how many requests there is room, as far as that is known, after a look if it is less than
  // `wanted`.
  std::uint32_t room(std::uint32_t wanted) { return to_.credit_up_to(wanted); }

  // Pushes requests side by side, all or none. False: no room.
  bool push(const TurnRequest* requests, std::uint32_t count);

  // Pushes the entries of a command or a record as requests of their shard, the first one under
  // this tag and the others under those behind it; all or none. Each is copied once, into the lane.
  bool push_entries(ShardId shard,
                    std::uint64_t tag_first,
                    std::span<const locks::LockEntry> entries);

  // The next event, until the next pull; nullptr if there is none. One that comes apart is kept
  // until it is whole.
  const HostEventSlot* pull();

  // Whether the lane brought what no device writes, so that nothing comes any more.
  bool is_broken() const { return from_.broken(); }

 private:
  const netcore::Packet& front() const;
  bool is_quiet() const;
  void note_nothing();
  void prefetch_ahead() const;
  bool take_slot(const netcore::SlotTile& tile);
  bool begin(const TurnReply& reply);
  void next_noop();

  netcore::LaneSender to_;
  // From here on of whoever pulls: on lines of their own.
  alignas(64) netcore::LaneReceiver from_;
  netcore::LaneWires wires_;  // Of from_.
  ResidentNames names_;
  bool quiet_ = false;          // The last look found nothing, and as the stamp in front
  std::uint32_t in_front_ = 0;  // this, by which nothing can have come.
  std::uint32_t missing_ = 0;   // Entries that follow what came, and have not.
  HostEventSlot told_;
  HostNoops noops_;  // That came together, and how many of them were given on.
  std::uint32_t noops_given_ = 0;
};

}  // namespace gcoord::server
