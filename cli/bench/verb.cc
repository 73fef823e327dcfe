// gcoordctl bench: how fast the cluster answers, under a load of the user's choice.
#include "cli/bench/closed_lock.h"
#include "cli/bench/flags.h"
#include "cli/bench/open_run.h"
#include "cli/bench/operations/operations.h"
#include "cli/terminal/command.h"

#include <memory>
#include <string>

namespace gcoord::cli {

namespace {

std::string help_of(const std::string& operation) {
  if (operation == "lock") {
    return "acquire and release locks; exit 1 if a request failed";
  }
  if (operation == "lease") {
    return "grant and revoke leases; exit 1 if a request failed";
  }
  if (operation == "elect") {
    return "campaign, lead and resign; exit 1 if a request failed";
  }
  return operation == "watch" ? "change names until a watch has told of it; exit 1 if one failed"
                              : "read held names linearizably; exit 1 if a request failed";
}

int bench(Context& context, const BenchFlags& flags) {
  if (flags.open_loop()) {
    return bench_open(context, flags);
  }
  const auto closed = closed_plan_of(context, flags);
  return closed.has_value() ? bench_closed_lock(context, *closed) : context.exit_code();
}

void add_operation(Command& group, Context& context, const std::string& operation) {
  auto flags = std::make_shared<BenchFlags>();
  flags->operation = operation;
  Command* verb = add_verb(group, context, flags, operation, help_of(operation), bench);
  add_open_flags(*verb, *flags);
  if (operation == "lock") {
    add_closed_flags(*verb, *flags);
  }
}

}  // namespace

void add_bench_commands(Command& app, Context& context) {
  Command* group =
      app.add_subcommand("bench", "measure the cluster's performance")->require_subcommand(1);
  for (const std::string& operation : operation_names()) {
    add_operation(*group, context, operation);
  }
  add_bench_queue_command(*group, context);
}

}  // namespace gcoord::cli
