// gcoordctl lock run NAME -- CMD: runs a command while holding a lock, or several (--lock).
//
// The command gets GCOORD_LOCK_NAME, GCOORD_LOCK_TOKEN and GCOORD_LOCK_SESSION, and in
// GCOORD_LOCK_TOKENS a line NAME=TOKEN for each lock; the first two are of the lock that is named
// first. When an operator breaks one of them, the command is told to stop and killed soon after.
// When the session is in
// danger of being lost, the command gets SIGTERM, and SIGKILL before the lock can pass on: the
// client's deadline is conservative, so both happen while the lock is still held. The exit code is
// the command's (128 + signal when it was killed), 6 when the lock was lost, and 127 or 126 when
// there is no such program or it cannot be executed. Signals that end a
// program end the wait; while the command runs they are passed on to it. The command runs in a
// process group of its own, so that signals reach what it started too; on a terminal it is the
// foreground group from its first instruction, as under a shell. A guard stands between this
// program and the command (cli/guard): when this program dies, or the lock is lost, everything that
// the command started is killed, wherever it went. When the command is stopped (Ctrl-Z) this
// program stops too, and goes on with it, unless the lock was lost meanwhile. Everything after the
// first "--" is the command, byte for byte.
#include "cli/credentials/session_key_files.h"
#include "cli/guard/guarded_command.h"
#include "cli/terminal/check_flags.h"
#include "cli/terminal/chosen_values.h"
#include "cli/terminal/command.h"
#include "cli/terminal/lock_flags.h"
#include "cli/terminal/wake_sources.h"
#include "cli/verbs/grant_wait.h"
#include "protocol/error_codes.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

using std::chrono::milliseconds;

struct RunOptions {
  std::string name;
  std::vector<std::string> more;  // --lock.
  std::vector<std::string> names;
  std::string ttl = "10s";
  WaitFlags wait;
  HoldFlags hold;
  CheckFlags checks;
};

constexpr int kLockLostExit = static_cast<int>(protocol::ExitCode::Conflict);

// How much of a lease is left when the command is told to stop: a third of the TTL, which is the
// time between two keep-alives, for its own cleaning up; half of that is left at SIGKILL.
milliseconds term_margin(milliseconds ttl) {
  return ttl / 3;
}

milliseconds kill_margin(milliseconds ttl) {
  return ttl / 6;
}

// Those that end a program, and Ctrl-Z from elsewhere than the terminal.
constexpr std::initializer_list<int> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

// The terminal on stdin, which is lent to the command's process group while the command runs.
class Terminal {
 public:
  // Only a background group is stopped by giving the terminal away or taking it back, and this
  // program is one while the command has it.
  Terminal() { ::signal(SIGTTOU, SIG_IGN); }

  ~Terminal() { take_back(); }

  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Whether it is this program's to lend.
  static bool ours() {
    return ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
  }

  // The command took it by itself as it started.
  void note_lent() { lent_ = true; }

  void lend(pid_t group) {
    if (ours()) {
      lent_ = ::tcsetpgrp(STDIN_FILENO, group) == 0;
    }
  }

  void take_back() {
    if (std::exchange(lent_, false)) {
      ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
    }
  }

 private:
  bool lent_ = false;
};

// Told from the client's thread: an operator broke a hold.
struct Broken {
  Waker waker;
  std::atomic<bool> any{false};
};

// Watches over a running command until it has ended.
class Watch {
 public:
  Watch(GuardedCommand& child, const client::Session& session, Terminal& terminal, Broken& broken)
      : child_(child), session_(session), terminal_(terminal), broken_(broken) {}

  // True if the lock was lost, or could not be kept until the command ended.
  bool until_end(const SignalFd& signals) {
    while (child_.running()) {
      const milliseconds left = session_.remaining();
      if (left <= kill_margin(session_.ttl())) {
        talk("the session is lost; sending the command SIGKILL");
        child_.kill_all();
        return true;
      }
      if (broken_.any.load()) {
        end_broken();
        return true;
      }
      look_at_lease(left);
      go_on();
      wait_readable({child_.fd(), signals.fd(), broken_.waker.fd()}, until_next_look(left));
      pass_on(signals);
      child_.wait_for(milliseconds(0));
    }
    // Told to stop and then safe again: the lock was held all the time.
    return told_ && session_.remaining() <= term_margin(session_.ttl());
  }

 private:
  // Somebody else has the lock by now, so the command has little time.
  void end_broken() {
    talk("an operator broke the lock; sending the command SIGTERM");
    go_on();
    child_.signal(SIGTERM);
    child_.signal(SIGCONT);
    child_.wait_for(kill_margin(session_.ttl()));
    child_.kill_all();
  }

  void look_at_lease(milliseconds left) {
    const bool in_danger = left <= term_margin(session_.ttl());
    if (in_danger && !told_) {
      talk("the session cannot be kept alive; sending the command SIGTERM");
      child_.signal(SIGTERM);
    } else if (!in_danger && told_) {
      talk("the session is safe again; the lock was never lost");
    }
    told_ = in_danger;
  }

  milliseconds until_next_look(milliseconds left) const {
    const milliseconds ttl = session_.ttl();
    return std::max(left - (told_ ? kill_margin(ttl) : term_margin(ttl)), milliseconds(1));
  }

  void pass_on(const SignalFd& signals) {
    while (const int arrived = signals.take()) {
      child_.signal(arrived);
    }
    if (child_.take_stop()) {
      stop_too();
    }
  }

  // The shell that started this program sees a stopped job, and has its terminal. Nobody keeps the
  // session alive now, but the command does nothing either.
  void stop_too() {
    terminal_.take_back();
    ::raise(SIGSTOP);
    stopped_ = true;
  }

  // After SIGCONT, and only if the lease was looked at since.
  void go_on() {
    if (std::exchange(stopped_, false)) {
      terminal_.lend(child_.pid());
      child_.signal(SIGCONT);
    }
  }

  GuardedCommand& child_;
  const client::Session& session_;
  Terminal& terminal_;
  Broken& broken_;
  bool told_ = false;
  bool stopped_ = false;
};

// "a=7\nb=9": names have no control characters, and no token has a "=".
std::string tokens_of(const RunOptions& options, const client::MultiLock& locks) {
  std::string text;
  for (const std::string& name : options.names) {
    text += (text.empty() ? "" : "\n") + name + "=" + std::to_string(*locks.fence(name));
  }
  return text;
}

// As shells have it, so that no code of a command is taken for this.
constexpr int kNoSuchCommandExit = 127;
constexpr int kUnusableCommandExit = 126;

int report_unstarted(Context& context, const Status& why) {
  context.fail(protocol::make_error(protocol::ErrorCode::CommandUnstarted, why.message()));
  return why.code() == StatusCode::NotFound ? kNoSuchCommandExit : kUnusableCommandExit;
}

bool names_file(const std::string& option) {
  return option == "cacert" || option == "cert" || option == "key" || option == "password-file" ||
         option == "token-file";
}

bool says_where(const std::string& option) {
  return names_file(option) || option == "endpoints" || option == "tls" || option == "user" ||
         option == "insecure-credentials";
}

using Variables = std::vector<std::pair<std::string, std::string>>;

// How the command's own clients reach the cluster as the same user: where files prove it. A
// password that was typed stays here. The environment and the contexts are there for the command,
// too, so only what the command line says is added: a variable more would stand above the context
// that the command names by GCOORD_CONTEXT.
Variables login_variables(const Globals& globals) {
  Variables variables;
  const ContextValues typed = typed_values(*globals.program, globals.values());
  const auto chosen = choose_own_values(typed);
  if (!chosen.ok()) {
    return variables;  // It was chosen once already; the file has changed since.
  }
  const bool by_context = typed.contains("context");
  if (by_context) {
    variables.emplace_back(variable_name("context"), chosen.value().context);
  }
  const bool provable = !globals.login.password_file.empty() || !globals.login.token_file.empty();
  for (const auto& [option, value] : chosen.value().by_option) {
    const std::string variable = variable_name(option);
    // A variable that is there would stand above the context that the command line names.
    const char* const present = std::getenv(variable.c_str());
    const bool hidden = by_context && value.source == ValueSource::Context && present != nullptr &&
                        *present != '\0';
    const bool missing = value.source == ValueSource::CommandLine || hidden;
    if (!missing || !says_where(option) || value.text == "-" ||
        (option == "user" && !provable)) {  // Its clients would ask for the password.
      continue;
    }
    variables.emplace_back(variable,
                           names_file(option)
                               ? std::filesystem::absolute(value.text).lexically_normal().string()
                               : value.text);
  }
  return variables;
}

// What the command runs under.
struct Hold {
  client::Session& session;
  const client::MultiLock& locks;
  Broken& broken;
  const SessionKeyDescriptor& key;
};

int run_command(Context& context,
                const RunOptions& options,
                const Hold& hold,
                GuardedCommand& command,
                const SignalFd& signals) {
  const std::string& first = options.names.front();
  const std::string session = std::to_string(hold.session.id());
  const bool foreground = Terminal::ours();
  Terminal terminal;
  const std::string token = std::to_string(*hold.locks.fence(first));
  const bool keyed = hold.key.put(hold.session.key());
  auto variables = login_variables(context.globals());
  variables.insert(variables.end(),
                   {{"GCOORD_LOCK_NAME", first},
                    {"GCOORD_LOCK_TOKEN", token},
                    {"GCOORD_LOCK_TOKENS", tokens_of(options, hold.locks)},
                    {"GCOORD_LOCK_SESSION", session},
                    {"GCOORD_SESSION", session},  // For one more release.
                    {kSessionKeyVariable, keyed ? hold.key.number() : std::string{}}});
  const Status started = command.start(variables, foreground);
  if (foreground) {
    terminal.note_lent();  // Also when there was no such program: it was lent before that showed.
  }
  if (!started.ok()) {
    return report_unstarted(context, started);
  }
  if (Watch(command, hold.session, terminal, hold.broken).until_end(signals)) {
    command.kill_all();  // What it left running, too.
    talk("the lock on '" + first + "' was lost");
    return kLockLostExit;
  }
  command.leave();
  return command.wait_for(milliseconds(0)).value_or(128 + SIGKILL);
}

int run(Context& context, const RunOptions& options) {
  if (context.child_command().empty()) {
    return context.fail(
        protocol::make_error(protocol::ErrorCode::OptionMissing,
                             "the command, after --: lock run NAME -- CMD ARGUMENTS"));
  }
  if (options.names.empty()) {
    return context.fail(protocol::make_error(protocol::ErrorCode::OptionMissing,
                                             "NAME or --lock, the lock to hold"));
  }
  const auto ttl = context.duration("--ttl", options.ttl);
  const auto how = hold_of(context, options.hold, options.wait);
  auto health = health_of(context, options.checks);
  if (!ttl.has_value() || !how.has_value() || !health.has_value()) {
    return context.exit_code();
  }
  const SessionKeyDescriptor key;                                   // The command inherits it.
  auto command = GuardedCommand::prepare(context.child_command());  // Before threads and sockets.
  if (!command.ok()) {
    return report_unstarted(context, command.status());
  }
  const SignalFd signals{kSignals};
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const auto broken = std::make_shared<Broken>();
  const auto on_lost = [broken](const client::LostLock&) {
    broken->any.store(true);
    broken->waker.wake();
  };
  auto session =
      client->open_session({.ttl = *ttl, .on_lost = on_lost, .health = *std::move(health)});
  if (!session.ok()) {
    return context.fail(*client, session.status());
  }
  GrantWait waited = wait_for_grant(session.value(), options.names, *how, signals);
  if (waited.signal != 0) {
    const client::Status closed = session.value().close();
    talk("stopped waiting for '" + options.names.front() + "'" +
         (closed.ok() ? "" : "; it leaves the queue when its session ends"));
    return 128 + waited.signal;
  }
  if (!waited.granted->ok()) {
    return context.fail(*client, waited.granted->status());
  }
  client::MultiLock& locks = waited.granted->value();
  const int code = run_command(
      context, options, {session.value(), locks, *broken, key}, command.value(), signals);
  const client::Status released = locks.release();
  const client::Status closed = session.value().close();
  if (!released.ok() && !closed.ok()) {
    talk("the lock could not be released; it ends with its session: " + released.to_string());
  }
  return code;
}

}  // namespace

void add_lock_run_command(Command& lock, Context& context) {
  auto options = std::make_shared<RunOptions>();
  Command* app = lock.add_subcommand("run", "run a command while holding a lock");
  app->add_option("NAME", options->name, "name of the lock")->names_locks();
  app->add_option(
         "--lock", options->more, "name of one of several locks, all or none; may be repeated")
      ->expected(1)
      ->take_all()
      ->type_name("NAME")
      ->names_locks();
  app->footer(
      "Put the command and its arguments after --: lock run NAME -- CMD ARGUMENTS\n"
      "The command's environment has GCOORD_LOCK_NAME, GCOORD_LOCK_TOKEN, GCOORD_LOCK_SESSION "
      "and,\n"
      "of several locks, a line NAME=TOKEN each in GCOORD_LOCK_TOKENS; where sessions have keys, "
      "an\n"
      "open descriptor GCOORD_SESSION_KEY_FD has that of its session. It also has, as "
      "GCOORD_CACERT, "
      "GCOORD_USER\n"
      "and so on, the endpoints and the files by which this program proves who it is, so that a "
      "gcoordctl\n"
      "in it is the same user; a password that was typed is not handed on.\n"
      "When this program dies, even by SIGKILL, or the lock is lost, everything that the command\n"
      "started is killed. A command that ends by itself may leave processes behind.\n"
      "Exit code: the command's; 6 when the lock was lost or not granted in time; 127 when there "
      "is\n"
      "no such command, 126 when it cannot be executed (GC1007); the lock is released in both "
      "cases.");
  app->add_option("--ttl", options->ttl, "time that the lock outlives this process (default 10s)")
      ->type_name("TIME");
  add_wait_flags(*app, options->wait);
  add_hold_flags(*app, options->hold);
  add_check_flags(*app, options->checks);
  app->callback([app, &context, options] {
    if (app->count("NAME") != 0) {
      options->names.push_back(options->name);
    }
    options->names.insert(options->names.end(), options->more.begin(), options->more.end());
    context.choose([options](Context& chosen) { return run(chosen, *options); });
  });
}

}  // namespace gcoord::cli
