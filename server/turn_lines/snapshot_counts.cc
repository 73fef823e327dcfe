#include "server/turn_lines/snapshot_counts.h"

#include <utility>

namespace gcoord::server {

void SnapshotCounts::write() {
  const std::uint64_t sent = metrics_.snapshots_sent.value();
  const std::uint64_t installed = metrics_.snapshots_installed.value();
  const std::uint64_t sent_before = std::exchange(sent_, sent);
  const std::uint64_t installed_before = std::exchange(installed_, installed);
  if (sent != sent_before || installed != installed_before) {
    log_debug(LogComponent::Disk,
              "snapshots of shards: {} begun to peers, {} of peers installed",
              sent - sent_before,
              installed - installed_before);
  }
}

}  // namespace gcoord::server
