// gcoordctl lock acquire | release; the other verbs have files of their own.
#include "cli/credentials/session_key_files.h"
#include "cli/terminal/any_node.h"
#include "cli/terminal/command.h"
#include "cli/terminal/living_session.h"
#include "cli/terminal/lock_flags.h"
#include "cli/terminal/read_flags.h"
#include "cli/terminal/wake_sources.h"
#include "cli/verbs/grant_wait.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

namespace gcoord::cli {

namespace {

struct LockOptions {
  std::string name;
  std::vector<std::string> names;  // Of acquire.
  std::string ttl;
  WaitFlags wait;
  HoldFlags hold;
  std::uint64_t token = 0;
  std::uint64_t session = 0;                // Of release.
  std::optional<std::uint64_t> in_session;  // Of acquire; a new one when absent.
  std::uint64_t sequence = 0;               // 0: one above all that were used before.
  std::uint32_t holds_max = 0;
  bool downgrade = false;
  bool keep_waiting = false;
};

constexpr std::chrono::seconds kTtlDefault{10};

// As was said, else as long as the session lives anyway, if the nodes show that.
std::chrono::milliseconds ttl_in(const client::SessionDescription& living,
                                 std::optional<std::chrono::milliseconds> said) {
  return said.value_or(living.ttl.count() != 0 ? living.ttl : kTtlDefault);
}

// One that an earlier acquire or `session open` left, which then goes on under numbers above all
// that it has used. Nothing when the failure was printed.
std::optional<client::Session> taken_up(Context& context,
                                        client::Client& client,
                                        const LockOptions& options,
                                        std::optional<std::chrono::milliseconds> said) {
  const auto living = living_session(context, client, *options.in_session);
  if (!living.has_value()) {
    return std::nullopt;
  }
  client::AttachOptions attach;
  attach.session_id = *options.in_session;
  attach.ttl = ttl_in(*living, said);
  attach.keep_alive = true;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const auto now_us = std::chrono::duration_cast<std::chrono::microseconds>(since).count();
  attach.first_sequence =
      options.sequence != 0 ? options.sequence : static_cast<std::uint64_t>(now_us);
  auto session = context.attach(client, std::move(attach));
  if (!session.ok()) {
    context.refuse(client, session.status());
    return std::nullopt;
  }
  return std::move(session).value();
}

std::optional<client::Session> session_for(Context& context,
                                           client::Client& client,
                                           const LockOptions& options,
                                           std::optional<std::chrono::milliseconds> said) {
  if (options.in_session.has_value()) {
    return taken_up(context, client, options, said);
  }
  auto session = client.open_session({said.value_or(kTtlDefault), {}});
  if (!session.ok()) {
    context.refuse(client, session.status());
    return std::nullopt;
  }
  if (const Status kept = context.keep_key(session.value()); !kept.ok()) {
    context.refuse(kept);
    return std::nullopt;
  }
  return std::move(session).value();
}

// A session that was there before stays, with all that it holds.
void leave_session(const LockOptions& options, client::Session& session) {
  if (options.in_session.has_value()) {
    session.detach();
  }
}

std::optional<client::AcquireOptions> acquire_options(Context& context,
                                                      const LockOptions& options) {
  auto how = hold_of(context, options.hold, options.wait);
  if (how.has_value()) {
    how->holds_max = options.holds_max;
    how->shared = how->shared || options.downgrade;
    how->downgrade = options.downgrade;
    // Who waits in a session of before may hold something; a new one holds nothing.
    how->detect_deadlock = options.in_session.has_value() && !options.keep_waiting;
  }
  return how;
}

// One lock's facts stand alone; those of several in a list, in the order in which they were asked
// for.
Json grants_json(const LockOptions& options,
                 const client::MultiLock& locks,
                 const client::Session& session,
                 std::chrono::milliseconds remaining) {
  Json json;
  Json list = Json::array();
  for (const std::string& name : options.names) {
    const auto lock = std::ranges::find(locks.locks(), name, &client::Lock::name);
    json = {{"name", name},
            {"token", std::to_string(lock->fence())},
            {"epoch", std::to_string(lock->epoch())},
            {"held_again", lock->held_again()}};
    list.push_back(json);
  }
  if (options.names.size() > 1) {
    json = {{"locks", list}};
  }
  json["session"] = std::to_string(session.id());
  json["ttl_ms"] = remaining.count();
  return json;
}

// A signal came: nobody will use what was asked for. A new session ends; in one of before the
// request was withdrawn, and what it was granted is released.
int give_up(const LockOptions& options, client::Session& session, GrantWait& waited) {
  client::Result<client::MultiLock>& granted = *waited.granted;
  client::Status left;
  if (!options.in_session.has_value()) {
    left = session.close();
  } else if (granted.ok()) {
    for (const client::Lock& lock : granted.value().locks()) {
      if (!lock.already_held() || lock.held_again()) {
        client::Status released = session.release(lock.name(), lock.fence());
        if (left.ok()) {
          left = std::move(released);
        }
      }
    }
  }
  if (granted.ok()) {
    granted.value().detach();  // What the session held before stays its own.
  }
  leave_session(options, session);
  talk("stopped acquiring '" + options.names.front() + "'" +
       (left.ok() ? "" : "; the request ends with its session"));
  return 128 + waited.signal;
}

// A lock that only its session's key releases, and the key ends with this program.
void warn_of_key(Context& context, client::Client& client, const client::Session& session) {
  if (names_session_key(context.globals().session_key_file) || session.key().empty() ||
      context.output().format() != Format::Tables) {
    return;
  }
  client::AccessQuery query;
  query.subject = client::AccessSubject::Self;
  query.node_id = any_node(client);
  const auto self = client.access(query);
  if (self.ok() && self.value().enabled) {
    talk("the key of session " + std::to_string(session.id()) +
         " was not kept: without it nobody but an operator releases the lock before its TTL ends; "
         "next time give --session-key-file FILE");
  }
}

int acquire(Context& context, const LockOptions& options) {
  std::optional<std::chrono::milliseconds> ttl;
  if (!context.read_duration("--ttl", options.ttl, ttl)) {
    return context.exit_code();
  }
  const auto how = acquire_options(context, options);
  if (!how.has_value()) {
    return context.exit_code();
  }
  const SignalFd signals{kEndingSignals};  // Before any thread starts.
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  auto session = session_for(context, *client, options, ttl);
  if (!session.has_value()) {
    return context.exit_code();
  }
  GrantWait waited = wait_for_grant(*session, options.names, *how, signals);
  client::Result<client::MultiLock>& locks = *waited.granted;
  if (waited.signal != 0) {
    return give_up(options, *session, waited);
  }
  if (!locks.ok()) {
    leave_session(options, *session);
    return context.fail(*client, locks.status());
  }
  // Both stay: the lock lives with its session, and the session for its TTL, counted from now and
  // not from some keep-alive during the wait.
  const client::Status renewed = session->renew();
  if (!renewed.ok() && !session->alive()) {
    leave_session(options, *session);
    return context.fail(*client, renewed);
  }
  if (waited.signal = signals.take(); waited.signal != 0) {
    return give_up(options, *session, waited);
  }
  // Without a majority to say so, only what is left of the last time is certain.
  const auto remaining = renewed.ok() ? session->ttl() : session->remaining();
  Json json = grants_json(options, locks.value(), *session, remaining);
  json["after"] = positions_text(client->positions());
  if (!options.in_session.has_value()) {
    warn_of_key(context, *client, *session);
  }
  locks.value().detach();
  session->detach();
  context.output().print_facts(json);
  return 0;
}

int release(Context& context, const LockOptions& options) {
  const auto status =
      release_elsewhere(context,
                        {.name = options.name, .session = options.session, .token = options.token},
                        [](const client::Status&) { return false; });
  if (!status) {
    return context.exit_code();
  }
  context.output().print_facts(
      {{"name", options.name}, {"token", std::to_string(options.token)}, {"released", true}});
  return 0;
}

}  // namespace

void add_lock_commands(Command& app, Context& context) {
  auto options = std::make_shared<LockOptions>();
  Command* lock = app.add_subcommand("lock", "acquire, release and show locks");
  lock->require_subcommand(1);

  Command* verb = add_verb(*lock,
                           context,
                           options,
                           "acquire",
                           "acquire locks that live for their TTL, all or none; waits unless "
                           "--wait or --try says otherwise, and leaves the queue when a signal "
                           "ends it",
                           acquire);
  verb->add_option("NAME", options->names, "name of the lock, or names of several")
      ->required()
      ->names_locks();
  verb->add_option("--ttl",
                   options->ttl,
                   "TTL of the lock (default 10s; with --session, the TTL of that session)")
      ->type_name("TIME");
  add_wait_flags(*verb, options->wait);
  Option* session =
      verb->add_option(
              "--session",
              options->in_session,
              "use the session of an earlier acquire or session open; it must still live (GC6008)")
          ->type_name("S");
  verb->footer(
      "While rights are checked the lock is released, and its session renewed, only with the key "
      "of the\n"
      "session: --session-key-file FILE, an option of every verb, keeps it here and shows it "
      "later.");
  verb->add_option("--sequence",
                   options->sequence,
                   "number of this request in --session: a repetition with the same number is "
                   "executed once; GC6011 if another request used the number")
      ->needs(session)
      ->type_name("N");
  verb->add_flag("--keep-waiting",
                 options->keep_waiting,
                 "with --session: wait even if sessions wait for each other in a circle, because "
                 "another process releases this session's locks meanwhile");
  verb->add_option("--holds",
                   options->holds_max,
                   "with --session: add one hold to a lock that the session holds already, up to N")
      ->in_range(1, 65'535)
      ->type_name("N");
  verb->add_flag(
      "--downgrade",
      options->downgrade,
      "with --session, which holds the lock alone: become a reader under the same token");
  add_hold_flags(*verb, options->hold);

  verb = add_verb(*lock, context, options, "release", "release a lock", release);
  add_lock_name(*verb, options->name);
  add_lock_token(*verb, options->token);
  verb->add_option("--session", options->session, "session id that the acquire printed")
      ->required()
      ->type_name("S");

  add_lock_look_commands(*lock, context);
  add_lock_break_command(*lock, context);
  add_lock_move_command(*lock, context);
  add_lock_run_command(*lock, context);
  add_lock_deadlocks_command(*lock, context);
}

}  // namespace gcoord::cli
