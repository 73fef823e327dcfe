// gcoordctl group: membership of groups, their views and their barriers. Adds its verbs to the
// parser; see command.h.
#pragma once

#include "cli/terminal/command.h"

namespace gcoord::cli {

void add_group_commands(Command& app, Context& context);

}  // namespace gcoord::cli
