// gcoordctl top: a live view of the cluster. Adds its verb to the parser; see command.h.
#pragma once

#include "cli/terminal/command.h"

namespace gcoord::cli {

void add_top_command(Command& app, Context& context);

}  // namespace gcoord::cli
