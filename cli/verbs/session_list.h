// gcoordctl session list, and lease list: the sessions of a cluster that the user may see.
#pragma once

#include "cli/terminal/command.h"

namespace gcoord::cli {

// What a session is, in JSON: as `session show` and `session list` print it.
Json session_json(const client::SessionDescription& described);

// Adds the verb `list` to a group.
void add_session_list(Command& group, Context& context);

}  // namespace gcoord::cli
