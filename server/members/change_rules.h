// Changes of members that are refused before they are proposed, because the log cannot know them:
// who lives, how far shards have come, and which nodes have the feature.
//
// What the log can know is refused by it (membership/view/apply_step.h). Pure functions;
// thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "membership/view/cpu.h"
#include "protocol/hello.h"
#include "protocol/members/change_messages.h"

#include <functional>
#include <span>
#include <string_view>

namespace gcoord::server {

// Votes of the voters that stay, and how many of them are of nodes that live.
protocol::MemberTolerance tolerance_of(const membership::ClusterView& view,
                                       std::span<const NodeId> live);

// Refuses a view in which the votes of live nodes are no majority.
Status check_quorum(const protocol::MemberTolerance& before,
                    const protocol::MemberTolerance& after);

// Whether all counts are for the view of this epoch, and every shard is led and has the log on
// every joining node.
bool all_ready(const protocol::MemberMoves& moves, std::uint64_t epoch);

// The same, and every shard has the configuration that the view wants.
bool all_settled(const protocol::MemberMoves& moves, std::uint64_t epoch);

// The first node of the view that is not known to have the feature; 0: all have it. `has`: of any
// node.
NodeId first_lacking(const membership::ClusterView& view,
                     protocol::Feature feature,
                     const std::function<bool(NodeId, protocol::Feature)>& has);

// Whether the view has a witness that stays, or is to come.
bool has_witness(const membership::ClusterView& view);

// Refuses one more witness, and without force one voter with state less, where fewer than two of
// these would stay or no more of them than witnesses: those that can lead have to be a majority by
// themselves (docs/adr/0117). preview: what the change makes of the view.
Status check_witnesses(const membership::ClusterView& view,
                       const membership::ClusterView& preview,
                       bool force);

// The first node that is not known to have Feature::Members; 0: all have it, or it has been used
// already, so that no node of an earlier release can be there. `has`: of any node.
NodeId lacking_members(const membership::ViewCpu& state,
                       const std::function<bool(NodeId, protocol::Feature)>& has);

// Whether the order leaves each shard with the nodes and votes that it has: then it may be given to
// nodes whose log lives on a device, which has its nodes by number.
bool keeps_nodes(const protocol::MemberActionOrder& order);

// Whether the order gives a node's number to another data directory, where no number can be added:
// what `member replace` means to nodes whose log lives on a device (docs/adr/0163).
bool renews(const protocol::MemberActionOrder& order);

// The command that it makes.
membership::ViewCommand renewal_of(const protocol::MemberActionOrder& order,
                                   std::uint64_t epoch,
                                   const protocol::Invitation& invitation);

// Refuses to give the number of a node away that lives, or to somebody who is to be more or less
// than a voter.
Status check_renewal(const protocol::MemberActionOrder& order, std::span<const NodeId> live);

// The command that an action makes; for Add with the invitation.
membership::ViewCommand command_of(const protocol::MemberActionOrder& order,
                                   std::uint64_t epoch,
                                   const protocol::Invitation& invitation);

// Refuses a name of digits: verbs take a number for an id. Views of earlier releases may have one.
Status check_name(std::string_view name);

// What the code says to who asked. `view`: that refused the command.
Status step_error(membership::ViewCode code,
                  const membership::ViewCommand& command,
                  const membership::ClusterView& view);

}  // namespace gcoord::server
