// gcoordctl group rendezvous and round: rounds of processes that gather.
//
// Pure but for what the verbs print and ask of the cluster; one thread.
#pragma once

#include "cli/terminal/command.h"

namespace gcoord::cli {

// Adds the two verbs to `gcoordctl group`; see command.h.
void add_rendezvous_verbs(Command& group, Context& context);

}  // namespace gcoord::cli
