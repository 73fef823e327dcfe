// Context that every command of gcoordctl receives, and the registration of commands.
//
// Each verb group is one file with one function that adds its subcommands to the parser; a
// subcommand's body runs after parsing and returns the exit code. Bodies talk to the cluster only
// through the client library. One thread.
#pragma once

#include "cli/credentials/login_options.h"
#include "cli/terminal/chosen_values.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/output.h"
#include "common/http/client.h"
#include "gcoord/client.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::cli {

// Options of every command.
struct Globals {
  std::string endpoints;  // Comma-separated; --endpoints, else GCOORD_ENDPOINTS, else loopback.
  std::string output = "table";
  std::string timeout = "5s";
  std::string context;
  LoginOptions login;
  std::string session_key_file;
  // TLS: any of the files means it, too.
  bool tls = false;
  std::string cacert;
  std::string cert;
  std::string key;
  bool insecure_credentials = false;  // Passwords and tokens in plain TCP beyond loopback.
  const Command* program = nullptr;   // That they are options of.
  // The verb is about contexts: it runs also where the one in use cannot be read.
  bool keeps_contexts = false;

  // By name, as the parser or a context has them; of a user the name alone, since these are shown
  // and kept.
  ContextValues values() const {
    return {{"endpoints", endpoints},
            {"output", output},
            {"timeout", timeout},
            {"context", context},
            {"tls", tls ? "true" : ""},
            {"cacert", cacert},
            {"cert", cert},
            {"key", key},
            {"user", login.user.substr(0, login.user.find(':'))},
            {"password-file", login.password_file},
            {"token-file", login.token_file},
            {"insecure-credentials", insecure_credentials ? "true" : ""}};
  }

  // What a context or the environment says of an option.
  void take(const std::string& option, const std::string& value);

  // How to speak with nodes, and with their pages.
  client::TlsOptions tls_options() const;
  HttpTls http_tls() const;
};

// The parser's results, and the doors to the cluster.
class Context {
 public:
  using Body = std::function<int(Context&)>;

  Globals& globals() { return globals_; }

  const Globals& globals() const { return globals_; }

  // What stood after the first "--" of `lock run`, as it was given.
  void set_child_command(std::vector<std::string> words) { child_command_ = std::move(words); }

  const std::vector<std::string>& child_command() const { return child_command_; }

  // The command line named this body.
  void choose(Body body) { body_ = std::move(body); }

  // Runs it; the exit code.
  int run();

  const Output& output() const { return output_; }

  // Where the global options got their values; the failure, for a verb that keeps contexts.
  const Result<ChosenValues>& chosen() const { return chosen_; }

  std::chrono::milliseconds timeout() const { return timeout_; }

  // Whether the user, the environment or a context gave the time, or it is the default.
  bool timeout_given() const;

  // The addresses that connect() begins with. OptionInvalid when one is none.
  Result<std::vector<std::string>> endpoints() const;

  // On failure the error has been printed and exit_code() says what to return.
  std::optional<client::Client> connect();

  // Speaks for a session that another program opened, with the key that the options or the
  // environment name (cli/credentials/session_key_files.h).
  client::Result<client::Session> attach(client::Client& client, client::AttachOptions how) const;

  // Has the client know that key, so that its requests of the session show it; nothing happens
  // where none is named. False: it cannot be used, and the error has been printed.
  bool show_key(client::Client& client, std::uint64_t session_id);

  // Leaves the session's key where the options say, for other programs that are to attach it.
  Status keep_key(const client::Session& session) const;

  // The same, and waits up to a second for the other nodes; who is missing comes later.
  std::optional<client::Client> connect_to_all();

  int exit_code() const { return exit_code_; }

  // Prints a failure of the client library with what is known of each node.
  int fail(const client::Client& client, const client::Status& status) const;

  int fail(const Status& status) const { return output_.fail(status); }

  // Prints the failure; exit_code() says what to return.
  void refuse(const Status& status) { exit_code_ = fail(status); }

  void refuse(const client::Client& client, const client::Status& status) {
    exit_code_ = fail(client, status);
  }

  // A time that the user gave; prints the error when it cannot be read.
  std::optional<std::chrono::milliseconds> duration(const std::string& flag,
                                                    const std::string& text);

  // The same of a flag that need not be given: without text `into` stays. False, and the error is
  // printed, when it cannot be read.
  template <typename Time>
  bool read_duration(const std::string& flag, const std::string& text, Time& into) {
    if (text.empty()) {
      return true;
    }
    const auto read = duration(flag, text);
    if (read.has_value()) {
      into = *read;
    }
    return read.has_value();
  }

 private:
  // Takes the values of the context in use for what nobody gave.
  void take_context();

  Globals globals_;
  Result<ChosenValues> chosen_{ChosenValues{}};
  std::vector<std::string> child_command_;
  Body body_;
  Output output_{Format::Tables};
  std::chrono::milliseconds timeout_{5000};
  int exit_code_ = 0;
};

// One per file of verbs.
void add_status_commands(Command& app, Context& context);
void add_doctor_command(Command& app, Context& context);
void add_health_command(Command& app, Context& context);
void add_shard_commands(Command& app, Context& context);
void add_cluster_commands(Command& app, Context& context);
void add_cluster_secret_commands(Command& cluster, Context& context);
void add_certificate_commands(Command& app, Context& context);
void add_lock_commands(Command& app, Context& context);
void add_lock_look_commands(Command& lock, Context& context);
void add_lock_break_command(Command& lock, Context& context);
void add_lock_move_command(Command& lock, Context& context);
void add_lock_run_command(Command& lock, Context& context);
void add_lock_deadlocks_command(Command& lock, Context& context);
void add_elect_commands(Command& app, Context& context);
void add_elect_observe_command(Command& elect, Context& context);
void add_watch_command(Command& app, Context& context);
void add_elect_line_commands(Command& elect, Context& context);
void add_session_commands(Command& app, Context& context);
void add_ledger_commands(Command& app, Context& context);
void add_snapshot_commands(Command& app, Context& context);
void add_quorum_commands(Command& app, Context& context);
void add_log_commands(Command& app, Context& context);
// Behind what else adds to the group `auth`.
void add_login_commands(Command& app, Context& context);
void add_member_commands(Command& app, Context& context);
void add_alarm_commands(Command& app, Context& context);
void add_access_commands(Command& app, Context& context);
void add_limit_commands(Command& app, Context& context);
void add_bench_commands(Command& app, Context& context);
void add_bench_queue_command(Command& bench, Context& context);
void add_debug_commands(Command& app, Context& context);
void add_context_commands(Command& app, Context& context);
void add_completion_command(Command& app, Context& context);

// A verb of a group whose body runs with these options when the command line names it.
template <typename Options>
Command* add_verb(Command& group,
                  Context& context,
                  const std::shared_ptr<Options>& options,
                  const std::string& verb,
                  const std::string& help,
                  int (*body)(Context&, const Options&)) {
  Command* app = group.add_subcommand(verb, help);
  app->callback([&context, options, body] {
    context.choose([options, body](Context& chosen) { return body(chosen, *options); });
  });
  return app;
}

// The same of `elect`, with the name of the election.
template <typename Options>
Command* add_elect_verb(Command& elect,
                        Context& context,
                        const std::shared_ptr<Options>& options,
                        const std::string& verb,
                        const std::string& help,
                        int (*body)(Context&, const Options&)) {
  Command* app = add_verb(elect, context, options, verb, help, body);
  app->add_option("NAME", options->name, "name of the election, which is the name of a lock")
      ->required()
      ->names_locks();
  return app;
}

}  // namespace gcoord::cli
