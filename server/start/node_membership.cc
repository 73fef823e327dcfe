#include "server/start/node_membership.h"

#include "ledger/disk/posix_disk.h"
#include "server/interfaces/errors.h"
#include "server/platform/operator_log.h"
#include "server/start/member_lines.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

using protocol::MemberState;

constexpr std::array kStates = {MemberState::Joining,
                                MemberState::Active,
                                MemberState::Draining,
                                MemberState::Leaving,
                                MemberState::Removed};

// Between two attempts to keep on a full disk what counts already.
constexpr std::uint64_t kRetryMs = 1000;

}  // namespace

Result<std::unique_ptr<NodeMembership>> NodeMembership::open(const NodeStart& start,
                                                             Environment environment) {
  GCOORD_TRY(auto disk,
             ledger::PosixDisk::open_directory(start.options().data_dir, &environment.room));
  return std::unique_ptr<NodeMembership>(
      new NodeMembership(start, std::move(environment), std::move(disk)));
}

NodeMembership::NodeMembership(const NodeStart& start,
                               Environment environment,
                               std::unique_ptr<ledger::Disk> disk)
    : self_(start.options().node),
      disk_(std::move(disk)),
      keeper_(*disk_, start),
      go_by_(std::move(environment.go_by)),
      by_state_{} {
  for (std::size_t k = 0; k < kStates.size(); ++k) {
    by_state_[k] = &environment.metrics.gauge({"gcoord_view_members",
                                               "Nodes of the cluster view that this node goes by",
                                               "state",
                                               std::string(member_state_name(kStates[k]))});
  }
}

void NodeMembership::start() {
  if (members().view.epoch != 0) {
    tell({});
  }
}

void NodeMembership::tell(const protocol::ClusterView& before) {
  const protocol::ClusterView& view = members().view;
  for (std::size_t k = 0; k < kStates.size(); ++k) {
    by_state_[k]->set(std::ranges::count(view.nodes, kStates[k], &protocol::Member::state));
  }
  for (const std::string& line : member_lines(before, view, self_)) {
    log_info(LogComponent::Node, "{}", line);
  }
  go_by_(members());
}

Status NodeMembership::advance(std::uint64_t now_ms) {
  if (keeper_.unkept() && now_ms >= next_retry_ms_) {
    next_retry_ms_ = now_ms + kRetryMs;
    GCOORD_TRY_STATUS(keeper_.retry());
  }
  if (!said_) {
    return Status{};
  }
  const ClusterMembers said = *std::exchange(said_, std::nullopt);
  const protocol::ClusterView before = members().view;
  GCOORD_TRY(const bool changed, keeper_.take(said));
  if (!changed) {
    return Status{};
  }
  // No part of the node has a place in a view without it.
  if (has_left(members().view, self_)) {
    return removed_error(members().view, self_);
  }
  tell(before);
  return Status{};
}

Status NodeMembership::ended(Status why) {
  if (why.detail() == kNodeRemoved && has_left(members().view, self_)) {
    GCOORD_TRY_STATUS(keeper_.mark_removed());
  }
  return why;
}

}  // namespace gcoord::server
