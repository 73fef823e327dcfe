#include "server/resident/engine/members.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kLookMs = 500;

// Whether the row's voters are those that the target wants now, and those that join, too.
struct Standing {
  bool settled = true;
  bool ready = true;
};

Standing standing_of(const ShardView& row,
                     const consensus::MembersTarget& target,
                     const std::function<bool(NodeId)>& is_live) {
  Standing standing;
  for (std::uint32_t k = 0; k < target.count; ++k) {
    const consensus::TargetNode& node = target.node[k];
    bool votes = false;
    for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
      votes = votes || (row.configuration.node[slot] == node.node &&
                        consensus::has_slot(row.configuration.voters, slot));
    }
    const bool joins = (node.flags & consensus::kTargetJoining) != 0;
    standing.settled = standing.settled && (votes || joins);
    standing.ready = standing.ready && votes && (!joins || is_live(node.node));
  }
  return standing;
}

}  // namespace

ResidentMembers::ResidentMembers(ledger::IdentityFile& identity, const ReplicaOptions& options)
    : self_(options.node),
      claim_(identity, options.rejoin),
      list_(options.node, options.peers, options.members_epoch) {
  std::vector<NodeId> others;
  std::ranges::transform(options.peers, std::back_inserter(others), &netcore::PeerAddress::id);
  claim_.set_voters(std::move(others));
}

void ResidentMembers::follow(const ClusterMembers& members, netcore::PeerNetwork& network) {
  const auto changes = list_.follow(members.view);
  if (!changes) {
    return;
  }
  epoch_ = members.view.epoch;
  targets_ = members_targets(members.view);
  looked_ = {};
  std::vector<NodeId> others = voters_of(members.view);
  std::erase(others, self_);
  claim_.set_voters(std::move(others));
  for (const netcore::PeerAddress& peer : changes->moved) {
    network.set_address(peer);
  }
}

bool ResidentMembers::keeps_leaderships(NodeId node) const {
  if (targets_.shards.count == 0) {
    return true;
  }
  const consensus::Found<consensus::TargetNode> target =
      consensus::find_target(targets_.shards, node);
  return target.found() && (target->flags & consensus::kTargetLeads) != 0;
}

MembersProgress ResidentMembers::progress(const Led& led) const {
  if (epoch_ == 0) {
    return {};
  }
  if (targets_.shards.joining_count == 0) {
    return {.epoch = epoch_, .led = led.led, .settled = led.led, .ready = led.led};
  }
  if (looked_.found.epoch == 0 || led.now_ms >= looked_.at_ms + kLookMs) {
    looked_ = {.at_ms = led.now_ms, .found = look(led)};
  }
  return looked_.found;
}

MembersProgress ResidentMembers::look(const Led& led) const {
  MembersProgress found{.epoch = epoch_};
  for (std::uint32_t shard = 0; shard < led.shard_count; ++shard) {
    const ShardView row = led.view(ShardId{shard});
    if (row.role != consensus::Role::Leader) {
      continue;
    }
    const Standing standing = standing_of(row, targets_.shards, led.is_live);
    ++found.led;
    found.settled += standing.settled ? 1 : 0;
    found.ready += standing.ready ? 1 : 0;
  }
  return found;
}

}  // namespace gcoord::server
