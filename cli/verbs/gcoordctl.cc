// gcoordctl: parse, call, print. The other files of this room have the verbs, one group each.
#include "cli/completion/scripts.h"
#include "cli/environment/unknown_variables.h"
#include "cli/group/verb.h"
#include "cli/terminal/command.h"
#include "cli/terminal/command_words.h"
#include "cli/top/verb.h"
#include "cli/verbs/completion.h"
#include "cli/verbs/examples.h"
#include "common/host/hidden_secrets.h"
#include "protocol/error_codes.h"
#include "server/platform/version.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 success, 1 a negative answer or failed check, 2 wrong usage, 3 unreachable,\n"
    "4 not allowed (see gcoordctl whoami), 5 no leader or too busy, 6 held by another.\n"
    "stdout is data, stderr is talk.\n"
    "Environment: an option that is not given is read from GCOORD_<NAME>: --endpoints from\n"
    "GCOORD_ENDPOINTS (host[:port],...; 127.0.0.1 and 7400 if not given), --ttl from GCOORD_TTL.\n"
    "--id, --node, --to, --count, --session, --token, --name, --label, --view, --after,\n"
    "--role and --include are read from the command line only.";

void add_globals(Command& app, Globals& globals) {
  app.add_option(
         "--endpoints", globals.endpoints, "client addresses of the cluster, comma-separated")
      ->type_name("HOST[:PORT],...");
  app.add_option("-o,--output", globals.output, "format of the output: table or json")
      ->one_of({"table", "json"})
      ->type_name("FORMAT");
  app.add_option("--timeout", globals.timeout, "time limit of a request (default 5s)")
      ->type_name("TIME");
  app.add_option(
         "--context",
         globals.context,
         "take endpoints, timeout, output and TLS files that are not given from this context "
         "(gcoordctl context)")
      ->type_name("NAME");
  app.add_option("--user",
                 globals.login.user,
                 "who you are; the terminal prompts for a password that is not given")
      ->type_name("NAME[:PASSWORD]");
  app.add_option("--password-file",
                 globals.login.password_file,
                 "the password is the first line of this file, which only you may read")
      ->type_name("FILE");
  app.add_option("--token-file",
                 globals.login.token_file,
                 "show the token in this file (gcoordctl auth login), which only you may read")
      ->type_name("FILE");
  app.add_option("--session-key-file",
                 globals.session_key_file,
                 "file with a session's key: written by what opens a session, read by what acts "
                 "for one")
      ->type_name("FILE");
  app.add_flag("--tls", globals.tls, "speak TLS with the nodes (so do --cacert and --cert)");
  app.add_option("--cacert",
                 globals.cacert,
                 "certificates of the CA that the nodes' must come from (default: the system's)")
      ->type_name("FILE");
  app.add_option("--cert", globals.cert, "certificate of this client, where nodes demand one")
      ->type_name("FILE");
  app.add_option(
         "--key", globals.key, "private key of --cert, else GCOORD_KEY; only its owner may read it")
      ->type_name("FILE");
  app.add_flag("--insecure-credentials",
               globals.insecure_credentials,
               "show passwords and tokens also in plain TCP beyond loopback, where others can "
               "read them");
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

bool wants_json(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if ((word == "-o" || word == "--output") && i + 1 < arguments.size()) {
      return arguments[i + 1] == "json";
    }
    if (word == "--output=json" || word == "-ojson") {
      return true;
    }
  }
  const char* variable = std::getenv("GCOORD_OUTPUT");
  return variable != nullptr && std::string_view{variable} == "json";
}

// Whether the words are of `lock run`.
bool names_lock_run(const Command& app, std::span<const std::string> words) {
  return path_of(read_words(app, words)) == "gcoordctl lock run";
}

// Takes the command of `lock run` out of the arguments before the parser sees them: it would take
// its brackets and commas for lists, and its options for those of gcoordctl.
std::vector<std::string> cut_child_command(const Command& app,
                                           std::vector<std::string>& arguments) {
  const auto cut = std::ranges::find(arguments, "--");
  if (cut == arguments.end() || !names_lock_run(app, {arguments.begin(), cut})) {
    return {};
  }
  std::vector<std::string> command(cut + 1, arguments.end());
  arguments.erase(cut, arguments.end());
  return command;
}

void add_verbs(Command& app, Context& context) {
  add_globals(app, context.globals());
  add_status_commands(app, context);
  add_doctor_command(app, context);
  add_health_command(app, context);
  add_shard_commands(app, context);
  add_cluster_commands(app, context);
  add_certificate_commands(app, context);
  add_member_commands(app, context);
  add_alarm_commands(app, context);
  add_access_commands(app, context);
  add_limit_commands(app, context);
  add_lock_commands(app, context);
  add_elect_commands(app, context);
  add_group_commands(app, context);
  add_top_command(app, context);
  add_watch_command(app, context);
  add_session_commands(app, context);
  add_ledger_commands(app, context);
  add_snapshot_commands(app, context);
  add_quorum_commands(app, context);
  add_log_commands(app, context);
  add_login_commands(app, context);
  add_bench_commands(app, context);
  add_version_command(app, context);
  add_debug_commands(app, context);
  add_context_commands(app, context);
  add_completion_command(app, context);
}

// Of `lock run a ./job`, as others write it.
Status command_not_apart() {
  return protocol::make_error(protocol::ErrorCode::OptionMissing,
                              "the command, after --: lock run NAME -- CMD ARGUMENTS");
}

// `help lock acquire` and `lock help` are `lock acquire --help` and `lock --help`.
void take_help(const Command& app, std::vector<std::string>& arguments) {
  if (read_words(app, arguments).unknown_verb == "help") {
    arguments.erase(std::ranges::find(arguments, "help"));
    arguments.push_back("--help");
  }
}

// What is wrong with words that the parser refused.
Status mistake_in(const CommandWords& words, ParseOutcome outcome, const std::string& error) {
  if (!words.unknown_option.empty()) {
    return no_such_option(words);
  }
  if (error == "A subcommand is required") {
    return no_such_verb(words);
  }
  const auto code = outcome == ParseOutcome::Lacking ? protocol::ErrorCode::OptionMissing
                                                     : protocol::ErrorCode::OptionInvalid;
  return protocol::make_error(code, error);
}

// An option in the environment that has no effect, since its name is mistyped.
void warn_of_variables() {
  const auto names = client_variables();
  const std::vector<std::string> known{names.begin(), names.end()};
  for (const std::string& line : unknown_variables(environ, known, Strictness::Near)) {
    talk("warning: " + line);
  }
}

int main_of(std::vector<std::string> arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  CommandLine line("gcoordctl: control a gcoord cluster", "gcoordctl");
  line.version("gcoordctl " + std::string{server::kVersion});
  Command& app = line.program();
  app.footer(kFooter);
  app.require_subcommand(1);
  Context context;
  add_verbs(app, context);
  line.add_examples(&example_of);
  line.settle();
  if (!arguments.empty() && arguments.front() == kCompleteVerb) {
    return complete(app, std::span{arguments}.subspan(1));
  }
  take_help(app, arguments);
  context.set_child_command(cut_child_command(app, arguments));
  const Output output(wants_json(arguments) ? Format::JsonLines : Format::Tables);
  const CommandWords words = read_words(app, arguments);
  if (!words.unknown_verb.empty()) {
    return output.fail(no_such_verb(words));  // The parser would answer --help all the same.
  }
  const ParseOutcome outcome = line.parse(arguments);
  if (outcome == ParseOutcome::Helped) {
    return 0;
  }
  if (outcome != ParseOutcome::Chosen && context.child_command().empty() &&
      path_of(words) == "gcoordctl lock run") {
    return output.fail(command_not_apart());
  }
  warn_of_variables();
  return outcome == ParseOutcome::Chosen ? context.run()
                                         : output.fail(mistake_in(words, outcome, line.error()));
}

}  // namespace
}  // namespace gcoord::cli

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  gcoord::hide_argument({argv + 1, argv + argc}, "--user", gcoord::SecretPart::AfterColon);
  return gcoord::cli::main_of(std::move(arguments));
}
