// gcoordctl: parse, call, print. The verbs are in ctl_*.cc, one file per group.
#include "cli/terminal/command.h"
#include "cli/verbs/examples.h"
#include "cli/verbs/top.h"
#include "protocol/error_codes.h"
#include "server/platform/version.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 success, 1 a negative answer or failed check, 2 wrong usage, 3 unreachable,\n"
    "4 not allowed, 5 no leader or too busy, 6 held by another. stdout is data, stderr is talk.\n"
    "Environment: an option that is not given is read from GCOORD_<NAME>: --endpoints from\n"
    "GCOORD_ENDPOINTS (host:port,host:port,...; else 127.0.0.1:7400), --ttl from GCOORD_TTL.\n"
    "--id, --node, --to, --count, --session and --token are read from the command line only.";

void add_globals(Command& app, Globals& globals) {
  app.add_option(
         "--endpoints", globals.endpoints, "client addresses of the cluster, comma-separated")
      ->type_name("HOST:PORT,...");
  app.add_option("-o,--output", globals.output, "format of the output: table or json")
      ->one_of({"table", "json"})
      ->type_name("FORMAT");
  app.add_option("--timeout", globals.timeout, "time limit of a request (default 5s)")
      ->type_name("TIME");
  app.add_option("--context",
                 globals.context,
                 "take endpoints, timeout and output that are not given from this context "
                 "(gcoordctl context)")
      ->type_name("NAME");
  globals.program = &app;
}

void add_version_command(Command& app, Context& context) {
  app.add_subcommand("version", "print the version")->callback([&context] {
    context.choose([](Context& chosen) {
      chosen.output().print_facts(Json{{"gcoordctl", server::kVersion}});
      return 0;
    });
  });
}

// Whether the word behind an option that stands before a verb is its value: all have one, unless
// they ask for help or bring it along.
bool takes_next(const std::string& option) {
  const bool joined = option.find('=') != std::string::npos ||
                      (!option.starts_with("--") && option.size() > 2);  // -ojson
  return !joined && option != "-h" && option != "--help";
}

// The verb is missing, or there is none of that name: which there are.
Status no_such_verb(const Command& app, const std::vector<std::string>& arguments) {
  const Command* group = &app;
  std::string unknown;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& word = arguments[at];
    if (word.starts_with('-')) {
      at += takes_next(word) ? 1 : 0;
      continue;
    }
    const auto verbs = group->subcommands();
    const auto next = std::ranges::find_if(
        verbs, [&word](const Command* each) { return each->check_name(word); });
    if (next != verbs.end()) {
      group = *next;
    } else {
      unknown = word;
      break;
    }
  }
  std::string verbs;
  for (const Command* each : group->subcommands()) {
    verbs += (verbs.empty() ? "" : ", ") + each->name();
  }
  return unknown.empty()
             ? protocol::make_error(protocol::ErrorCode::OptionMissing,
                                    "a verb of " + group->name() + ": " + verbs)
             : protocol::make_error(protocol::ErrorCode::CommandUnknown,
                                    "'" + unknown + "'; " + group->name() + " has " + verbs);
}

bool wants_json(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == "-o" || arguments[i] == "--output") {
      return arguments[i + 1] == "json";
    }
  }
  const char* variable = std::getenv("GCOORD_OUTPUT");
  return variable != nullptr && std::string_view{variable} == "json";
}

// Whether the first two words that are neither options nor their values are `lock run`.
bool names_lock_run(std::span<const std::string> words) {
  std::string verbs;
  int count = 0;
  for (std::size_t i = 0; i < words.size() && count < 2; ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-')) {
      verbs += " " + word;
      ++count;
      continue;
    }
    i += takes_next(word) ? 1 : 0;
  }
  return verbs == " lock run";
}

// Takes the command of `lock run` out of the arguments before the parser sees them: it would take
// its brackets and commas for lists, and its options for those of gcoordctl.
std::vector<std::string> cut_child_command(std::vector<std::string>& arguments) {
  const auto cut = std::ranges::find(arguments, "--");
  if (cut == arguments.end() || !names_lock_run({arguments.begin(), cut})) {
    return {};
  }
  std::vector<std::string> command(cut + 1, arguments.end());
  arguments.erase(cut, arguments.end());
  return command;
}

int main_of(std::vector<std::string> arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  CommandLine line("gcoordctl: control a gcoord cluster", "gcoordctl");
  Command& app = line.program();
  app.footer(kFooter);
  app.require_subcommand(1);
  Context context;
  context.set_child_command(cut_child_command(arguments));
  add_globals(app, context.globals());
  add_status_commands(app, context);
  add_shard_commands(app, context);
  add_cluster_commands(app, context);
  add_lock_commands(app, context);
  add_elect_commands(app, context);
  add_top_command(app, context);
  add_watch_command(app, context);
  add_session_commands(app, context);
  add_ledger_commands(app, context);
  add_snapshot_commands(app, context);
  add_quorum_commands(app, context);
  add_bench_commands(app, context);
  add_version_command(app, context);
  add_context_commands(app, context);
  add_completion_command(app, context);
  line.add_examples(&example_of);
  line.settle();
  const ParseOutcome outcome = line.parse(arguments);
  if (outcome == ParseOutcome::Helped) {
    return 0;
  }
  if (outcome != ParseOutcome::Chosen) {
    const Output output(wants_json(arguments) ? Format::JsonLines : Format::Tables);
    if (line.error() == "A subcommand is required") {
      return output.fail(no_such_verb(app, arguments));
    }
    const auto code = outcome == ParseOutcome::Lacking ? protocol::ErrorCode::OptionMissing
                                                       : protocol::ErrorCode::OptionInvalid;
    return output.fail(protocol::make_error(code, line.error()));
  }
  return context.run();
}

}  // namespace
}  // namespace gcoord::cli

int main(int argc, char** argv) {
  return gcoord::cli::main_of(std::vector<std::string>(argv + 1, argv + argc));
}
