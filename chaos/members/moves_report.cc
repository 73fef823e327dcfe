#include "chaos/members/moves_report.h"

#include "consensus/scenario/names.h"
#include "server/peers/members_target.h"

#include <fmt/format.h>

#include <algorithm>

namespace gcoord::chaos {

std::string shard_report(ShardId shard, const RunningLogs& logs) {
  std::string text = fmt::format("shard {}:", shard.value);
  for (const server::ReplicatedLog* log : logs) {
    const server::ShardView view = log->view(shard);
    text += fmt::format(
        " [node {} role {} leader {} vote {} term {} last {} commit {} applied {} of {}]",
        log->view().node.value,
        static_cast<int>(view.role),
        view.leader.value,
        view.vote.value,
        view.term.value,
        view.last.value,
        view.commit.value,
        view.applied.value,
        consensus::scenario::text_of(view.configuration));
  }
  return text;
}

std::string moves_report(const protocol::ClusterView& view,
                         const RunningLogs& logs,
                         std::uint32_t shard_count) {
  std::string text;
  for (const server::ReplicatedLog* log : logs) {
    const server::MembersProgress at = log->members_progress();
    const server::NodeView node = log->view();
    text += fmt::format(" [node {} at view {}: leads {}, settled {}, ready {}, forgot {}, hears",
                        node.node.value,
                        at.epoch,
                        at.led,
                        at.settled,
                        at.ready,
                        node.forgotten_count);
    for (const server::NodePeerView& peer : node.peers) {
      text += peer.live ? fmt::format(" {}", peer.link.id.value) : std::string{};
    }
    text += "]";
  }
  const server::MembersTargets targets = server::members_targets(view);
  for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
    const bool moves = std::ranges::any_of(logs, [&](const server::ReplicatedLog* log) {
      const server::ShardView row = log->view(ShardId{shard});
      return row.role == consensus::Role::Leader &&
             !as_wanted(row.configuration, targets.of(ShardId{shard}), consensus::kReplicaSlots);
    });
    if (moves) {
      return text + " " + shard_report(ShardId{shard}, logs);
    }
  }
  return text;
}

}  // namespace gcoord::chaos
