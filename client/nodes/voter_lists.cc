#include "client/nodes/voter_lists.h"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace gcoord::client {

namespace {

bool has(const std::vector<NodeId>& voters, NodeId node) {
  return std::ranges::find(voters, node) != voters.end();
}

}  // namespace

bool VoterLists::is_majority(std::span<const NodeId> nodes) const {
  return !lists.empty() && std::ranges::all_of(lists, [nodes](const std::vector<NodeId>& voters) {
    const auto count = std::ranges::count_if(
        voters, [nodes](NodeId voter) { return std::ranges::find(nodes, voter) != nodes.end(); });
    return static_cast<std::size_t>(count) > voters.size() / 2;
  });
}

std::optional<TimePoint> VoterLists::reached(
    std::span<const std::pair<NodeId, TimePoint>> moments) const {
  std::optional<TimePoint> reached;
  for (const std::vector<NodeId>& voters : lists) {
    std::vector<TimePoint> of_voters;
    for (const auto& [node, moment] : moments) {
      if (has(voters, node)) {
        of_voters.push_back(moment);
      }
    }
    const std::size_t majority = voters.size() / 2 + 1;
    if (of_voters.size() < majority) {
      return std::nullopt;
    }
    const auto nth = of_voters.begin() + static_cast<std::ptrdiff_t>(majority - 1);
    std::ranges::nth_element(of_voters, nth, std::greater<>{});
    reached = std::min(reached.value_or(*nth), *nth);
  }
  return reached;
}

}  // namespace gcoord::client
