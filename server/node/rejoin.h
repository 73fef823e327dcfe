// Start of a node that may return without its memory (--rejoin, docs/adr/0025).
//
// A damaged data directory is moved aside and a new one made in its place; an empty or an old one
// is opened as it is, and its engine ends with kDirectoryTakenOver when a peer remembers another:
// then the directory has become that one's successor, and whoever runs the node opens it again.
// One thread.
#pragma once

#include "common/status.h"
#include "server/node/node.h"
#include "server/options/options.h"

#include <memory>

namespace gcoord::server {

// Node::open, with these texts, of what the directory that the options name says to these options
// (server/start/node_start.h), behind links (ledger/directory/real_directory.h); and if what it
// holds is rotten and options.rejoin is set: of a new directory. Failures: those of node_start, of
// Node::open, of ledger::real_directory and of ledger::replace_damaged.
Result<std::unique_ptr<Node>> open_node(Invocation given, const ProcessTexts& texts);

// Whether run() ended only to have the node opened again.
bool is_taken_over(const Status& ended);

}  // namespace gcoord::server
