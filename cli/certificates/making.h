// The verbs that make something: cert ca, issue, renew, revoke. One thread.
#pragma once

#include "cli/terminal/command.h"

namespace gcoord::cli {

void add_certificate_making(Command& certificates, Context& context);

}  // namespace gcoord::cli
