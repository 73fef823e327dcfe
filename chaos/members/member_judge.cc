#include "chaos/members/member_judge.h"

#include "protocol/members/voters.h"
#include "server/interfaces/cluster_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace gcoord::chaos {

using protocol::ClusterView;
using protocol::Member;
using protocol::MemberState;

namespace {

// Voters that every shard is to have.
std::uint32_t wanted_voters(const ClusterView& view) {
  return static_cast<std::uint32_t>(std::ranges::count_if(view.nodes, [](const Member& node) {
    const bool there = node.state == MemberState::Active || node.state == MemberState::Draining;
    return there && node.role != protocol::MemberRole::Observer;
  }));
}

std::string broken(const ClusterView& view, const Member& node, const char* what) {
  return fmt::format("view {}: node {} {}", view.epoch, node.id.value, what);
}

}  // namespace

MemberJudge::MemberJudge(std::uint32_t shard_count, std::uint32_t founders)
    : shard_count_(shard_count), configurations_(shard_count, founders), quorums_(shard_count) {
  views_.emplace(0, ClusterView{});
}

const ClusterView& MemberJudge::newest() const {
  return views_.rbegin()->second;
}

bool MemberJudge::is_calm() const {
  return std::ranges::none_of(newest().nodes, [](const Member& node) {
    return node.state == MemberState::Joining || node.state == MemberState::Leaving;
  });
}

// Views before the one that a node was removed from were left, or vouched for.
bool MemberJudge::is_unprovable(const std::set<NodeId>& lost) const {
  const auto is_there = [&](NodeId node) {
    return !server::has_left(newest(), node) && !lost.contains(node);
  };
  for (auto view = std::next(views_.rbegin()); view != views_.rend(); ++view) {
    const std::vector<NodeId> voters = protocol::view_voters(view->second);
    const auto there = std::ranges::count_if(voters, is_there);
    if (2 * static_cast<std::size_t>(there) < voters.size()) {
      return true;
    }
    const ClusterView& next = std::prev(view)->second;
    if (std::ranges::any_of(voters, [&](NodeId node) { return server::has_left(next, node); })) {
      return false;
    }
  }
  return false;
}

std::string MemberJudge::text() const {
  std::string text;
  for (const Member& node : newest().nodes) {
    text += fmt::format("{}{} {}",
                        text.empty() ? "" : ", ",
                        node.id.value,
                        protocol::member_state_name(node.state));
  }
  return text;
}

bool MemberJudge::is_nowhere(NodeId node) const {
  for (std::uint32_t shard = 0; shard < shard_count_; ++shard) {
    // There it hears the views until it has left (server/peers/members_target.h).
    const bool views = ShardId{shard} == server::kViewShard;
    if (!views && configurations_.has_voter(ShardId{shard}, node)) {
      return false;
    }
  }
  return true;
}

std::string MemberJudge::on_view(NodeId node, const SeenView& seen) {
  const std::uint64_t epoch = seen.view.epoch;
  if (!seen.installed && epoch != seen.before + 1) {
    return fmt::format(
        "node {} goes from view {} to view {} by one entry", node.value, seen.before, epoch);
  }
  const auto [known, added] = views_.try_emplace(epoch, seen.view);
  if (!added) {
    return known->second == seen.view
               ? std::string{}
               : fmt::format("view {} of node {} is not what others had", epoch, node.value);
  }
  const auto before = views_.find(epoch - 1);
  return before == views_.end()
             ? fmt::format("node {} has view {}, which nobody made", node.value, epoch)
             : on_next(before->second, seen.view);
}

// What one entry made of the view.
std::string MemberJudge::on_next(const ClusterView& before, const ClusterView& after) const {
  for (const Member& node : after.nodes) {
    const Member* const was = protocol::find_member(before, node.id);
    if (was == nullptr && before.epoch != 0 && node.id <= before.nodes.back().id) {
      return broken(after, node, "got an id that was given before");
    }
    const bool left = node.state == MemberState::Removed;
    if (was != nullptr && was->state == MemberState::Removed && !left) {
      return broken(after, node, "is back although it had left");
    }
    if (was != nullptr && was->state != MemberState::Removed && left && !is_nowhere(node.id)) {
      return broken(after, node, "has left although it votes in a shard");
    }
  }
  const bool forgot = std::ranges::any_of(before.nodes, [&after](const Member& node) {
    return protocol::find_member(after, node.id) == nullptr;
  });
  return forgot ? fmt::format("view {} has forgotten a node", after.epoch) : std::string{};
}

std::string MemberJudge::on_step(const SeenStep& step,
                                 const std::function<std::uint64_t()>& target) {
  std::uint32_t wanted = 0;
  if (step.in.configuration_input == consensus::ConfigurationInput::Proposed) {
    const auto view = views_.find(target());
    wanted = view == views_.end() ? 0 : wanted_voters(view->second);
  }
  std::string wrong = configurations_.on_step(step, wanted);
  std::string miscounted = quorums_.on_step(step);
  return wrong.empty() ? miscounted : wrong;
}

}  // namespace gcoord::chaos
