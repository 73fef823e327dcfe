// Judge of the form of what a device reports: of all that needs no knowledge of requests.
//
// Every number by which the host finds something, a lane's shard, a count, a code or the room of a
// pool, must be one that a device of this node can name. A value; thread-safe.
#pragma once

#include "common/status.h"
#include "server/device_turn/view.h"
#include "server/resident/node/host_lane.h"

#include <cstdint>

namespace gcoord::server {

// Of the requests that name no row (ResidentRequests::probe).
inline constexpr ShardId kProbeShard{~0u};

class EventShape {
 public:
  // `room_max`: the most room that a lane has when it is empty.
  EventShape(const TurnShape& shape, std::uint32_t room_max) : shape_(shape), room_max_(room_max) {}

  // nullptr: lane `lane` may have brought this, if its tag is one of a request.
  const char* fault_of(std::uint32_t lane, const HostEventSlot& told) const;

 private:
  const char* fault_of_entry(const HostEventSlot& told) const;
  const char* fault_of_result(const HostEventSlot& told) const;

  TurnShape shape_;
  std::uint32_t room_max_;
};

// Whether it answers a request that names no row.
bool is_probe_answer(const HostEventSlot& told);

// Failures of the device (kDeviceFailed): what no device brings; what is out of order; and a state
// hash that is not the host's.
Status impossible_event(std::uint32_t lane, const HostEventSlot& told, const char* fault);
Status out_of_order();
Status lane_broken(std::uint32_t lane);
Status state_difference(const HostEventSlot& told, std::uint64_t own);

}  // namespace gcoord::server
