// Restarts of a node in its process after a fault of its GPU: the node is opened anew with a
// new context on the device, or the process leaves at once.
#pragma once

#include "common/status.h"
#include "server/gpu_policy/judge.h"

#include <cstdint>
#include <optional>

namespace gcoord {

// Whether the end has to do with the node's device, whose driver may then hold up an ordinary end
// of the process.
bool is_of_device(const Status& ended);

// One thread.
class NodeRestarts {
 public:
  // Whether the node ended so that its device's context is closed and both are opened anew. Not too
  // often within an hour.
  bool takes(const Status& ended);

  // N of cuda:N, on which nothing of this process is any more. A failure shows when the device is
  // opened again.
  static void close_context(std::optional<std::uint32_t> gpu);

 private:
  server::ContextRestarts restarts_;
};

}  // namespace gcoord
