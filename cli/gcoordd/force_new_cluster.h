// --force-new-cluster: a new cluster of one node's data directory, made while no node runs.
//
// Says what the directory is and what may be lost, asks for the old cluster's id to be typed, and
// does it (server/force/force.h). Facts go to `out`, one a line; the question and how it goes on
// to `err`. Blocks; one thread.
#pragma once

#include "common/status.h"
#include "server/options/options.h"

#include <functional>
#include <optional>
#include <ostream>
#include <string>

namespace gcoord {

struct ForceTerminal {
  std::ostream& out;
  std::ostream& err;
  // One line that a person types; nothing where nobody is there to type.
  std::function<std::optional<std::string>()> ask;
};

// Failures: ForceUnconfirmed; those of server::ForceNewCluster; kDirectoryCluster and
// kDirectoryNode where the options name another cluster or node than the directory's.
Status force_new_cluster(const server::Invocation& invocation, const ForceTerminal& terminal);

// Standard input and output. Asks only where both ends are terminals.
ForceTerminal standard_terminal();

}  // namespace gcoord
