// Majorities of the machines that are left, by a view and by those that may come next.
//
// An operator who knows that a machine is gone for ever orders nothing by which the others are no
// majority: the cluster itself takes it for alive for as long as an election timeout. And no
// machine is lost whose loss nothing outlives. Pure.
#pragma once

#include "common/ids.h"
#include "protocol/members/change_messages.h"
#include "protocol/members/cluster_view.h"

#include <set>
#include <vector>

namespace gcoord::chaos {

// Whether the order makes other majorities.
bool changes_votes(protocol::MemberAction action);

// Whether those that vote by the view are a majority, by weight, without the lost ones.
bool has_majority(const protocol::ClusterView& view, const std::set<NodeId>& lost);

// The view with the order carried out, as far as votes go.
protocol::ClusterView after_order(const protocol::ClusterView& view,
                                  const protocol::MemberActionOrder& order);

// The view, and those that the cluster may make of it by itself: each node that is promoted as soon
// as it is ready, alone and with all the others.
std::vector<protocol::ClusterView> coming_views(const protocol::ClusterView& view);

}  // namespace gcoord::chaos
