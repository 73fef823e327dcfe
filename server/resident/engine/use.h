// Use of other nodes' device lock pools by the shards that a host applies alone.
//
// A device tells how much room its stripe has left, and its host admits commands by that
// (resident_requests.h). A shard that came by a snapshot lies in the pools of the other devices
// only, so its host has to know what it takes there. It is measured from the shard's state when
// that is installed, grows by what each command may take at most, and is measured again once so
// many commands were applied that the work is a fraction of theirs: it is too large by a quarter at
// most, and never too small. One thread.
#pragma once

#include "common/ids.h"
#include "locks/state/demand.h"
#include "server/interfaces/state_machine.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

class ResidentUse {
 public:
  // `service` holds the states, and outlives it.
  ResidentUse(std::uint32_t lane_count, StateMachine& service)
      : service_(service), lanes_(lane_count) {}

  // The shard's state as it is now counts; again: in place of what counted before.
  void measure(std::uint32_t lane, ShardId shard);

  // A command was applied to a shard that counts.
  void add(std::uint32_t lane, ShardId shard, const locks::LockDemand& demand);

  // What all shards of a lane take, in acquires with a name of ordinary length (room_of).
  std::uint32_t of_lane(std::uint32_t lane) const;

 private:
  struct Use {
    locks::LockDemand taken;
    std::uint32_t commands = 0;  // Since it was measured,
    std::uint32_t again_at = 0;  // and after how many it is measured again.
  };

  StateMachine& service_;
  std::vector<locks::LockDemand> lanes_;         // Sums.
  std::unordered_map<std::uint32_t, Use> uses_;  // By shard.
  std::vector<std::byte> bytes_;                 // Kept warm.
};

}  // namespace gcoord::server
