// gcoordctl: parse, call, print. The verbs are in ctl_*.cc, one file per group.
#include "cli/command.h"
#include "rpc/error_codes.h"
#include "server/version.h"

#include <csignal>
#include <iostream>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 success, 1 a negative answer or failed check, 2 wrong usage, 3 unreachable,\n"
    "4 not allowed, 5 no leader or too busy, 6 held by another. stdout is data, stderr is talk.\n"
    "Environment: GCOORD_ENDPOINTS (host:port,host:port,...), else 127.0.0.1:7400.";

void add_globals(CLI::App& app, Globals& globals) {
  app.add_option("--endpoints", globals.endpoints, "client ports of the cluster, comma-separated")
      ->type_name("HOST:PORT,...");
  app.add_option("-o,--output", globals.output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
  app.add_option("--timeout", globals.timeout, "how long a request may take (default 5s)")
      ->type_name("TIME");
}

void add_version_command(CLI::App& app, Context& context) {
  app.add_subcommand("version", "print the version")->callback([&context] {
    context.choose([](Context& chosen) {
      chosen.output().print_facts(Json{{"gcoordctl", server::kVersion}});
      return 0;
    });
  });
}

// Subcommands pass what they do not know to their parents, so that -o json may stand anywhere.
void fall_through(CLI::App& app) {
  for (CLI::App* each : app.get_subcommands({})) {
    each->fallthrough();
    fall_through(*each);
  }
}

bool wants_json(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if ((arguments[i] == "-o" || arguments[i] == "--output") && arguments[i + 1] == "json") {
      return true;
    }
  }
  return false;
}

int main_of(const std::vector<std::string>& arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{"gcoordctl: talk to a gcoord cluster", "gcoordctl"};
  app.footer(kFooter);
  app.require_subcommand(1);
  Context context;
  add_globals(app, context.globals());
  add_status_commands(app, context);
  add_shard_commands(app, context);
  add_lock_commands(app, context);
  add_quorum_commands(app, context);
  add_bench_commands(app, context);
  add_version_command(app, context);
  add_completion_command(app, context);
  fall_through(app);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    const Output output(wants_json(arguments) ? Format::JsonLines : Format::Tables);
    return output.fail(rpc::make_error(rpc::ErrorCode::OptionInvalid, error.what()));
  }
  return context.run();
}

}  // namespace
}  // namespace gcoord::cli

int main(int argc, char** argv) {
  return gcoord::cli::main_of(std::vector<std::string>(argv + 1, argv + argc));
}
