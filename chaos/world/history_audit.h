// Audit of the nodes' histories against each other and against their own trees, after a world has
// quiesced.
//
// Three questions for each shard (I15 of docs/internals/faults.md). Have trees of one size one
// root, on every node? Is a node's tree the one over the entries that it kept: do they hash to the
// root that its trees say? And is everything in it: do the entries of a history from the beginning,
// applied to empty tables, lead to the state that answered the clients? One thread.
#pragma once

#include "chaos/promises/weak_reads.h"

#include <string>
#include <vector>

namespace gcoord::chaos {

class WorldNode;
struct WorldOptions;

// Of nodes that run and have applied the same. Empty, or what is wrong with the first that is.
std::string audit_histories(const WorldOptions& options, const std::vector<WorldNode*>& nodes);

// Whether each key is held where its home says that it is, and nowhere else; of a node at rest.
std::string audit_places(const WorldOptions& options, const WorldNode& node);

// Whether each answer is what its shard's log says up to the index that it named. Shards whose log
// no node has from its beginning on are left out.
std::string audit_reads(const std::vector<WorldNode*>& nodes, std::vector<WeakRead> reads);

}  // namespace gcoord::chaos
