// Driver of a resident node's turn: kernels that stay on a GPU, or the calling thread as their host
// emulation.
//
// Both call the same functions (device_turn_loop.h). The GPU's runs by itself from start() until
// stop(), and turn() only looks whether it still does; the twin's rows are turned by turn(), once
// per call. After a failure nothing that the node tells is to be believed, and it is not started
// again. One thread.
#pragma once

#include "common/device/device_calls.h"
#include "common/status.h"
#include "server/resident/node/node.h"

#include <cstdint>
#include <memory>
#include <string>

namespace gcoord::server {

class ResidentTurn {
 public:
  virtual ~ResidentTurn() = default;  // Stops it first.

  // Once: all that takes time before the first turn. Rows are stored unless they were restored.
  virtual Status prepare() = 0;

  // After that, when the node is connected; and again after stop() and ResidentNode::go_on().
  virtual Status start() = 0;

  // Called in every pass of the node's loop, with a time that never falls and was read after the
  // last request was pushed: what a lease says at that time it says of every read in the rings.
  // Whether anything was done here.
  virtual Result<bool> turn(std::uint64_t now_ns) = 0;

  // Tells it to leave and waits until it has, at most for `limit_ms`.
  virtual Status stop(std::uint32_t limit_ms) = 0;

  // Whether it left because the node needs more room for rows or log pages (pool.h, page_pool.h).
  // After stop(), ResidentNode::go_on() and start() it goes on.
  virtual bool rests() const = 0;

  // Whether turn() does the work, so that the caller must keep calling it.
  virtual bool needs_calls() const = 0;

  // The peers into whose rings turn() has written since the last call, as bits of their places in
  // the node. Of a device, which wakes nobody and needs no waking: none.
  virtual std::uint32_t take_written() { return 0; }
};

std::unique_ptr<ResidentTurn> make_host_turn(ResidentNode& node);

// Whether this build knows devices at all.
bool has_device_turn();

// On cuda:`device`; kernels of all stripes must find room there at once (ResourceExhausted). A
// build without CUDA has none. `calls` outlives it.
Result<std::unique_ptr<ResidentTurn>> make_device_turn(ResidentNode& node,
                                                       std::uint32_t device,
                                                       DeviceCalls& calls);

}  // namespace gcoord::server
