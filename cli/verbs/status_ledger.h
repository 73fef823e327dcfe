// The ledger's part of `gcoordctl status`: what each node has published, who signed it and how long
// ago, and what is wrong with it; and who has voted twice.
//
// Lines to stand below the table of nodes, made of what the nodes say of themselves
// (docs/reference/machine_interfaces.md, "publication"). Nodes that could not be reached, or are of
// a release that says nothing of it, are left out. Pure; thread-safe.
#pragma once

#include "cli/terminal/output.h"

#include <string>
#include <vector>

namespace gcoord::cli {

std::vector<std::string> ledger_notes(const Json& nodes);

}  // namespace gcoord::cli
