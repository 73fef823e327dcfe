// gcoordctl ledger: proofs of what was decided, from a node, from a copy, or from nobody at all.
#include "cli/terminal/ledger_flags.h"

namespace gcoord::cli {

void add_ledger_commands(Command& app, Context& context) {
  Command* ledger = app.add_subcommand("ledger", "show, prove and verify the ledger");
  ledger->require_subcommand(1);
  add_ledger_read_verbs(*ledger, context);
  add_ledger_verify(*ledger, context);
  add_ledger_copy_verbs(*ledger, context);
  add_ledger_prune(*ledger, context);
}

}  // namespace gcoord::cli
