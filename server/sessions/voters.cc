#include "server/sessions/voters.h"

#include "common/assert.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace gcoord::server {

namespace {

// Ticks are rounded, here and where a client counts.
constexpr std::uint64_t kTicksMore = 4;

}  // namespace

ExpiryVoters::ExpiryVoters(NodeId self,
                           const std::vector<NodeId>& nodes,
                           std::uint64_t ttl_ticks_max)
    : self_(self), ttl_ticks_max_(ttl_ticks_max) {
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
    lists_.push_back({std::move(nodes), 0, false, std::nullopt});
  }
}

void ExpiryVoters::let_go(Tick now) {
  for (Voters& voters : lists_) {
    voters.let_go = voters.let_go.value_or(now);
  }
}

// Nobody's session is so long that they counted for it.
void ExpiryVoters::forget_lists(Tick now) {
  std::erase_if(lists_, [&](const Voters& voters) {
    return voters.let_go && now >= *voters.let_go + (ttl_ticks_max_ + kTicksMore);
  });
}

// Nodes of the newest view, then of lists that somebody may go by, then of those let go last.
std::vector<NodeId> ExpiryVoters::most_wanted() const {
  std::vector<const Voters*> order;
  for (const Voters& voters : lists_) {
    order.push_back(&voters);
  }
  const auto rank = [](const Voters* voters) {
    return voters->newest ? ~std::uint64_t{0}
                          : voters->let_go.value_or(Tick{~std::uint64_t{0} - 1}).value;
  };
  std::ranges::stable_sort(order, std::ranges::greater{}, rank);
  std::vector<NodeId> wanted;
  for (const Voters* const voters : order) {
    for (const NodeId node : voters->nodes) {
      if (wanted.size() < kNodesMax && std::ranges::find(wanted, node) == wanted.end()) {
        wanted.push_back(node);
      }
    }
  }
  return wanted;
}

// Another node's place is taken only when there is no free one. A list of which nodes got none is
// no majority's: sessions that it still counts for end once it counts no more.
bool ExpiryVoters::give_bits() {
  bool same = true;
  const std::vector<NodeId> wanted = most_wanted();
  for (const NodeId node : wanted) {
    if (std::ranges::find(bits_, node) != bits_.end()) {
      continue;
    }
    if (bits_.size() < kNodesMax) {
      bits_.push_back(node);
      continue;
    }
    const auto free = std::ranges::find_if(bits_, [&wanted](NodeId other) {
      return std::ranges::find(wanted, other) == wanted.end();
    });
    GCOORD_ASSERT(free != bits_.end());
    *free = node;
    same = false;
  }
  for (Voters& voters : lists_) {
    voters.bits = 0;
    for (const NodeId node : voters.nodes) {
      voters.bits |= bit_of(node);
    }
  }
  return same;
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
  const std::vector<NodeId> newest = voters_of(members.view);
  add(newest);
  for (const std::vector<NodeId>& earlier : members.earlier_voters) {
    add(earlier);
  }
  for (Voters& voters : lists_) {
    voters.newest = voters.nodes == newest;
  }
  forget_lists(now);
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
