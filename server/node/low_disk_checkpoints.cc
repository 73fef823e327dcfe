#include "server/node/low_disk_checkpoints.h"

#include <utility>

namespace gcoord::server {

void LowDiskCheckpoints::look(ReplicatedLog& engine, bool low, std::uint64_t now_ms) {
  const bool first = !std::exchange(low_, low);
  if (!low) {
    return;
  }
  const bool again =
      now_ms - requested_ms_ >= kAgainMs && engine.checkpoint_outcome(number_).has_value();
  if (first || again) {
    number_ = engine.request_checkpoint();
    requested_ms_ = now_ms;
  }
}

}  // namespace gcoord::server
