// Progress of the shards of all nodes towards the newest view, put together of what each node
// said of those that it leads.
//
// A shard that two nodes hold to lead is counted twice, for as long as one of them is cut off or
// stands still: so that all shards are settled counts only if they are all of them, by the sums of
// their marks (progress_mark). Of the other counts, and where a node of an earlier release says no
// sum, only those that stay right for a while mean anything (upkeep.h). One thread.
#pragma once

#include "common/ids.h"
#include "protocol/members/change_messages.h"
#include "server/interfaces/replicated_log.h"
#include "server/members/view_keeper.h"
#include "server/members/view_machine.h"

#include <vector>

namespace gcoord::server {

// The nodes that this node hears and that hear it, ascending, and itself.
std::vector<NodeId> live_nodes(const NodeView& node);

// Of nodes that live and have said so of the newest view, or of one before it since which all want
// the same members of every shard: marks, names and the like do not make the counts begin anew.
protocol::MemberMoves moves_of(const ReplicatedLog& log,
                               const ViewMachine& machine,
                               const ViewKeeper& keeper);

// The same for a view that is not there yet: shards that it wants at other nodes, or with other
// votes, than the newest view does have none of that yet. `now`: moves_of() the newest.
protocol::MemberMoves moves_to(protocol::MemberMoves now,
                               const protocol::ClusterView& newest,
                               const protocol::ClusterView& wanted);

// Shards that the node leads, as it said last; 0: none, or it has said nothing.
std::uint32_t led_by(NodeId node, const ReplicatedLog& log, const ViewKeeper& keeper);

}  // namespace gcoord::server
