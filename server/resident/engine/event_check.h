// Judge of what a device reports, before anybody believes it.
//
// Every number by which the host finds something, a lane's shard, a request's tag, a count, a code
// or the room of a pool, must be one that a device of this node can name; the first one that cannot
// be is a failure of the device (GC7101), and the node stops as for a state that differs. What is
// possible may still be wrong: that the state hashes find (rows.h). One thread; what needs no
// requests is judged by EventShape, on any.
#pragma once

#include "common/status.h"
#include "server/resident/copy/event_shape.h"
#include "server/resident/engine/requests.h"
#include "server/resident/node/node.h"

#include <cstdint>

namespace gcoord::server {

class EventCheck {
 public:
  // Both outlive it.
  EventCheck(const ResidentNode& node, const ResidentRequests& requests)
      : shape_(node.options().shape, requests.room_max()), requests_(requests) {}

  const EventShape& shape() const { return shape_; }

  // Internal, with kDeviceFailed: lane `lane` of no device brings this.
  Status judge(std::uint32_t lane, const HostEventSlot& told) const;

  // The same of an event whose form was judged: whether its tag is one of a request.
  Status judge_tag(std::uint32_t lane, const HostEventSlot& told) const;

 private:
  const char* fault_of_tag(const HostEventSlot& told) const;

  EventShape shape_;
  const ResidentRequests& requests_;
};

}  // namespace gcoord::server
