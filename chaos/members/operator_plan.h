// Plans of the operator of a simulated world: what to do next with the nodes of a view.
//
// A cluster of three grows, loses nodes and gets others, and never has fewer than three voters
// unless a machine is gone for ever. At the end nobody is left who comes or goes. Pure but for the
// dice.
#pragma once

#include "chaos/random/sim_random.h"
#include "common/ids.h"
#include "protocol/members/change_messages.h"
#include "protocol/members/cluster_view.h"

#include <cstdint>
#include <optional>
#include <set>

namespace gcoord::chaos {

// Ids that a world gives out at most.
inline constexpr std::uint32_t kWorldIdsMax = 16;

struct OperatorFacts {
  const protocol::ClusterView& view;
  const std::set<NodeId>& running;  // Nodes that there are machines of, up or down.
  const std::set<NodeId>& lost;     // Whose machines are gone for ever.
  // Who may not come in before somebody else has: they replace a node that is alive and weighs
  // much.
  const std::set<NodeId>& waiting;
  std::uint32_t size = 5;  // Voters that the cluster is to grow to.
  // Too few voters of an earlier view are left to say that it is (docs/adr/0111): who leaves and is
  // lost stays until the operator vouches for it.
  bool vouches = false;
};

// The next order; nothing: nothing now. Its number is not set.
std::optional<protocol::MemberActionOrder> next_order(const OperatorFacts& facts,
                                                      SimRandom& random);

// Once no fault comes any more: whoever joins comes in, or is sent away if there is no machine of
// it, and who is lost goes. Nothing: all is done, or is on its way.
std::optional<protocol::MemberActionOrder> last_order(const OperatorFacts& facts);

}  // namespace gcoord::chaos
