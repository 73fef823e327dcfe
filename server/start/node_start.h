// The start of a node: its options, and what its data directory says of the cluster.
//
// A directory from before view 1 says nothing, and the options are all there is. From view 1 on the
// directory names the node, its cluster and the other nodes, and gives the settings that nobody
// gave otherwise: an option counts before the view, so that a cluster whose nodes are all started
// anew with other settings comes up, and the view keeper judges (server/members/view_keeper.h).
// What --peer says is a hint (address_hints.h). One thread; reads the directory, changes nothing.
#pragma once

#include "common/status.h"
#include "ledger/directory/former_file.h"
#include "server/options/options.h"
#include "server/start/address_hints.h"
#include "server/start/kept_members.h"

#include <optional>
#include <string>
#include <vector>

namespace gcoord::server {

struct NodeStart {
  Invocation invocation;  // With the directory's word where no source had one.
  KeptMembers kept;       // Epoch 0: none.
  bool carried = false;   // They are those of a damaged directory that this one takes the place of.
  std::optional<ledger::FormerCluster> former;  // Whose place the cluster took.
  std::vector<PeerHint> given;                  // By --peer.
  AddressHints hints;                           // What counts of it beside the view that is kept.
  std::vector<std::string> notes;  // For the operator: where --peer and the view differ.

  const NodeOptions& options() const { return invocation.options; }
};

// Of a directory, behind links; with --rejoin also of the damaged one before it. Failures: those of
// read_kept_members and of ledger::IdentityFile::read; NodeRemoved if the view has this node as one
// that has left; kDirectoryCluster if the options name the cluster whose place another one took
// here; those of check_times for options that do not fit the settings of the view.
Result<NodeStart> node_start(Invocation invocation);

// NodeRemoved, for a node that has left the cluster as this view says, or as others said since.
Status removed_error(const protocol::ClusterView& view, NodeId node);

// The invocation with the settings of the view where no source gave one.
Result<Invocation> with_settings(Invocation invocation, const protocol::ClusterView& view);

// The settings of these options, as a view has them.
protocol::ViewSettings settings_of(const NodeOptions& options);

// The first option that some source gave with another value than the view has, as "--tick-ms";
// empty: there is none.
std::string contradiction(const Invocation& invocation, const protocol::ClusterView& view);

}  // namespace gcoord::server
