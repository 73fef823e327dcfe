#include "server/sessions/voters.h"

#include "common/assert.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace gcoord::server {

namespace {

// Ticks are rounded, here and where a client counts.
constexpr std::uint64_t kTicksMore = 4;

}  // namespace

ExpiryVoters::ExpiryVoters(NodeId self, const std::vector<NodeId>& nodes) : self_(self) {
  GCOORD_ASSERT(!nodes.empty() && nodes.size() <= kNodesMax);
  add(nodes);
  give_bits();
  others_ = nodes;
  std::erase(others_, self_);
  std::ranges::sort(others_);
}

std::uint64_t ExpiryVoters::bit_of(NodeId node) const {
  const auto found = std::ranges::find(bits_, node);
  return found == bits_.end() ? 0 : std::uint64_t{1} << (found - bits_.begin());
}

bool ExpiryVoters::is_majority(std::uint64_t silent, std::uint64_t ttl_ticks, Tick now) const {
  return std::ranges::all_of(lists_, [&](const Voters& voters) {
    const bool over = voters.let_go && now >= *voters.let_go + (ttl_ticks + kTicksMore);
    const auto count = static_cast<std::size_t>(std::popcount(silent & voters.bits));
    return over || count > voters.nodes.size() / 2;
  });
}

void ExpiryVoters::add(std::vector<NodeId> nodes) {
  const auto known = std::ranges::find(lists_, nodes, &Voters::nodes);
  if (known != lists_.end()) {
    known->let_go.reset();
  } else {
    lists_.push_back({std::move(nodes), 0, std::nullopt});
  }
}

void ExpiryVoters::let_go(Tick now) {
  for (Voters& voters : lists_) {
    voters.let_go = voters.let_go.value_or(now);
  }
}

// Forgets nodes that no list has only when there is no room for a new one.
bool ExpiryVoters::give_bits() {
  std::vector<NodeId> known = bits_;
  for (const Voters& voters : lists_) {
    for (const NodeId node : voters.nodes) {
      if (std::ranges::find(known, node) == known.end()) {
        known.push_back(node);
      }
    }
  }
  const bool room = known.size() <= kNodesMax;
  if (!room) {
    std::erase_if(known, [this](NodeId node) {
      return std::ranges::none_of(lists_, [node](const Voters& voters) {
        return std::ranges::find(voters.nodes, node) != voters.nodes.end();
      });
    });
    known.resize(std::min(known.size(), kNodesMax));
  }
  bits_ = std::move(known);
  for (Voters& voters : lists_) {
    voters.bits = 0;
    for (const NodeId node : voters.nodes) {
      voters.bits |= bit_of(node);
    }
  }
  return room;
}

bool ExpiryVoters::set_members(const ClusterMembers& members, Tick now) {
  if (members.view.epoch < epoch_ || members.view.nodes.empty()) {
    return true;
  }
  // View 1 has the nodes of the fixed list, so whoever goes by that list goes by view 1.
  if (epoch_ == 0) {
    lists_.clear();
  }
  epoch_ = members.view.epoch;
  let_go(now);
  add(voters_of(members.view));
  for (const std::vector<NodeId>& earlier : members.earlier_voters) {
    add(earlier);
  }
  const std::vector<NodeId> there = nodes_of(members.view);
  others_.clear();
  for (const Voters& voters : lists_) {
    std::ranges::copy_if(voters.nodes, std::back_inserter(others_), [&](NodeId node) {
      return node != self_ && std::ranges::binary_search(there, node);
    });
  }
  std::ranges::sort(others_);
  const auto repeated = std::ranges::unique(others_);
  others_.erase(repeated.begin(), repeated.end());
  return give_bits();
}

}  // namespace gcoord::server
