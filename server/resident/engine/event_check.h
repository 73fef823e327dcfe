// Judge of what a device reports, before anybody believes it.
//
// Every number by which the host finds something, a lane's shard, a request's tag, a count, a code
// or the room of a pool, must be one that a device of this node can name; the first one that cannot
// be is a failure of the device (GC7101), and the node stops as for a state that differs. What is
// possible may still be wrong: that the state hashes find (rows.h). One thread.
#pragma once

#include "common/status.h"
#include "server/resident/engine/requests.h"
#include "server/resident/node/node.h"

#include <cstdint>

namespace gcoord::server {

class EventCheck {
 public:
  // Both outlive it.
  EventCheck(const ResidentNode& node, const ResidentRequests& requests)
      : shape_(node.options().shape), requests_(requests) {}

  // Internal, with kDeviceFailed: lane `lane` of no device brings this.
  Status judge(std::uint32_t lane, const HostEventSlot& told) const;

 private:
  const char* fault_of(std::uint32_t lane, const HostEventSlot& told) const;
  const char* fault_of_entry(const HostEventSlot& told) const;
  const char* fault_of_result(const HostEventSlot& told) const;

  TurnShape shape_;
  const ResidentRequests& requests_;
};

}  // namespace gcoord::server
