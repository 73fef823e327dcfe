// The verbs that look: cert show, cert verify. One thread.
#pragma once

#include "cli/terminal/command.h"

namespace gcoord::cli {

void add_certificate_looks(Command& certificates, Context& context);

}  // namespace gcoord::cli
