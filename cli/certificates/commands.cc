// gcoordctl cert: certificates of nodes and users, and a small CA that makes them. Talks to no
// node.
#include "cli/certificates/making.h"
#include "cli/certificates/verify.h"
#include "cli/terminal/command.h"

namespace gcoord::cli {

void add_certificate_commands(Command& app, Context& context) {
  Command* group =
      app.add_subcommand("cert", "certificates, and a small CA for labs")->require_subcommand(1);
  add_certificate_making(*group, context);
  add_certificate_looks(*group, context);
}

}  // namespace gcoord::cli
