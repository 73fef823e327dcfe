// Keeps the pools of a resident node as large as they need to be, and tells their metrics.
//
// Called in every pass of the engine's loop. A pool that the device found too small is replaced at
// once; one that is too large, once two looks a minute apart found it so (ShrinkPace). One thread.
#pragma once

#include "common/status.h"
#include "server/resident/engine/metrics.h"
#include "server/resident/node/node.h"
#include "server/resident/node/turn.h"

#include <cstdint>
#include <functional>

namespace gcoord::server {

class PoolKeeper {
 public:
  // What it works with. `while_quiesced` calls a function while the turn rests, and lets the node
  // go on with the room that it needs (ResidentNode::go_on).
  struct Environment {
    ResidentNode& node;
    ResidentTurn& turn;
    ResidentMetrics& metrics;
    std::function<Status(const std::function<Status()>&)> while_quiesced;
  };

  // Failures: the memory's, or of the turn; the node must end.
  Status tend(std::uint64_t now_ms, const Environment& env);

 private:
  Status shrink(std::uint64_t now_ms, const Environment& env);

  ShrinkPace wide_;
  ShrinkPace pages_;
  std::uint64_t counts_ms_ = 0;      // When pages are counted next.
  std::uint64_t grow_again_ms_ = 0;  // When growth that found no memory may be tried again.
  std::uint64_t refused_ = 0;        // Wishes for pages, at the last count.
};

}  // namespace gcoord::server
