// The events of a resident node's device, drained from their lanes and passed on: decided entries
// and roles to the rows, what is to be stored to the storage, answers to the probe.
//
// Nothing is passed on that a device cannot say (event_check.h). Lanes with requests under way come
// first; where a term ended, all that is in the lane, so that what was decided for a client before
// is answered before ResidentRows::follow ends the rest. One thread.
#pragma once

#include "common/status.h"
#include "server/resident/engine/event_check.h"
#include "server/resident/engine/probe.h"
#include "server/resident/engine/requests.h"
#include "server/resident/engine/rows.h"
#include "server/resident/engine/storage.h"
#include "server/resident/node/node.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace gcoord::server {

class EventDrain {
 public:
  // All outlive it.
  struct Environment {
    ResidentNode& node;
    ResidentRequests& requests;
    ResidentRows& rows;
    ResidentStorage* storage = nullptr;  // In durable mode.
    std::function<std::uint64_t()> now_ms;
  };

  explicit EventDrain(const Environment& environment)
      : env_(environment),
        check_(environment.node, environment.requests),
        probe_(environment.node.options().shape.stripe_count, environment.requests),
        drained_(environment.node.options().shape.stripe_count) {}

  // A bounded part of what there is; how much that was.
  Result<std::size_t> drain();

  ResidentProbe& probe() { return probe_; }

 private:
  Result<std::uint32_t> drain_lane(std::uint32_t lane, std::uint32_t most);

  Status take(std::uint32_t lane, const HostEventSlot& told);
  Status look();

  Environment env_;
  EventCheck check_;
  ResidentProbe probe_;
  std::uint32_t next_lane_ = 0;  // Where the next call begins.
  std::vector<bool> drained_;    // By lane: nothing was left in it a moment ago.
};

}  // namespace gcoord::server
