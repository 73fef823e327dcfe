// --auth-recover: lets this node, while it does not run, take part in switching rights off.
//
// For a cluster in which nobody can prove to be its administrator any more. Says what it means,
// asks for the cluster's id to be typed, and writes a marker into the data directory
// (server/access/recovery_file.h). Once a majority of the voters runs with markers, their leader
// switches rights off, in an entry of the ledger. Blocks; one thread.
#pragma once

#include "cli/gcoordd/force_new_cluster.h"
#include "common/status.h"
#include "server/options/options.h"

namespace gcoord {

// Failures: RecoveryUnconfirmed, RecoveryUnfit; kDirectoryLocked while the node runs; those of the
// disk.
Status auth_recover(const server::Invocation& invocation, const ForceTerminal& terminal);

}  // namespace gcoord
