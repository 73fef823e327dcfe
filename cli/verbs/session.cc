// gcoordctl session open | keep-alive | show | list | close, and the same as a lease: lease grant |
// keep-alive | timetolive | list | revoke.
//
// A session that is opened so is registered at once and outlives this process for its TTL: what
// other systems call a lease. Locks are taken in it with `lock acquire --session`.
#include "cli/audit/origins.h"
#include "cli/terminal/check_flags.h"
#include "cli/terminal/command.h"
#include "cli/terminal/living_session.h"
#include "cli/terminal/wake_sources.h"
#include "cli/verbs/session_list.h"
#include "common/json/text.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>

namespace gcoord::cli {

namespace {

using std::chrono::milliseconds;

// Of a session that one may keep alive and not see: as long as one gets that says nothing of it.
constexpr milliseconds kTtlUnseen{10'000};

// How long nodes that cannot be reached are waited for before the others are asked.
constexpr milliseconds kLookAgain{500};

struct SessionFlags {
  std::string ttl = "10s";
  std::uint64_t id = 0;
  bool once = false;
  bool keys = false;
  bool clients = false;
  CheckFlags checks;
};

// A session that is bound to checks lives with this process, which runs them.
struct Bound {
  client::SessionHealth health;
  std::shared_ptr<Waker> waker = std::make_shared<Waker>();

  std::function<void(client::SessionEvent)> on_event() const {
    return [waker = waker](client::SessionEvent event) {
      if (event == client::SessionEvent::Expired) {
        waker->wake();
      }
    };
  }
};

// Until a signal comes, true, or the session is lost.
bool stand_by(const client::Session& session, const SignalFd& signals, const Bound& bound) {
  while (session.alive()) {
    wait_readable({signals.fd(), bound.waker->fd()}, std::chrono::seconds{1});
    if (signals.take() != 0) {
      return true;
    }
  }
  return false;
}

int report_lost(Context& context, const client::Session& session) {
  const auto why = session.healthy() ? protocol::ErrorCode::SessionExpired
                                     : protocol::ErrorCode::SessionUnhealthy;
  return context.fail(protocol::make_error(why, "session " + std::to_string(session.id())));
}

void print_opened(Context& context, const client::Session& session) {
  context.output().print_facts(
      {{"session", std::to_string(session.id())}, {"ttl_ms", session.ttl().count()}});
  std::cout.flush();
}

int open(Context& context, const SessionFlags& flags) {
  const auto ttl = context.duration("--ttl", flags.ttl);
  auto health = health_of(context, flags.checks);
  if (!ttl.has_value() || !health.has_value()) {
    return context.exit_code();
  }
  std::optional<SignalFd> signals;  // Before any thread starts.
  if (!health->checks.empty()) {
    signals.emplace(std::initializer_list<int>{SIGINT, SIGTERM, SIGHUP});
  }
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const Bound bound{*std::move(health)};
  auto session = client->grant_session(
      {.ttl = *ttl, .session_id = flags.id, .on_event = bound.on_event(), .health = bound.health});
  if (!session.ok()) {
    return context.fail(*client, session.status());
  }
  if (const Status kept = context.keep_key(session.value()); !kept.ok()) {
    return context.fail(kept);
  }
  print_opened(context, session.value());
  if (!signals.has_value()) {
    session.value().detach();
    return 0;
  }
  if (!stand_by(session.value(), *signals, bound)) {
    return report_lost(context, session.value());
  }
  const client::Status closed = session.value().close();
  return closed.ok() ? 0 : context.fail(*client, closed);
}

// Keeps another program's session alive as long as its checks pass; a signal leaves it its TTL.
int keep_bound(Context& context, const SessionFlags& flags) {
  auto health = health_of(context, flags.checks);
  if (!health.has_value()) {
    return context.exit_code();
  }
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP};
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const auto described = living_session(context, *client, flags.id);
  if (!described.has_value()) {
    return context.exit_code();
  }
  const Bound bound{*std::move(health)};
  auto session = context.attach(*client,
                                {.session_id = flags.id,
                                 .ttl = described->ttl.count() != 0 ? described->ttl : kTtlUnseen,
                                 .keep_alive = true,
                                 .on_event = bound.on_event(),
                                 .health = bound.health});
  if (!session.ok()) {
    return context.fail(*client, session.status());
  }
  // An attached session is certain to live only after a first keep-alive.
  if (const client::Status renewed = session.value().renew(); !renewed.ok()) {
    session.value().detach();
    return context.fail(*client, renewed);
  }
  print_opened(context, session.value());
  if (!stand_by(session.value(), signals, bound)) {
    return report_lost(context, session.value());
  }
  session.value().detach();
  return 0;
}

// What a keep-alive answers: the TTL that is left, 0 when the session is gone; null when the user
// may not see it.
int print_renewed(Context& context, const client::SessionDescription& described) {
  const bool unseen = described.alive && described.ttl.count() == 0;
  context.output().print_facts(
      {{"session", std::to_string(described.session_id)},
       {"ttl_ms",
        unseen ? Json(nullptr) : Json(described.alive ? described.remaining.count() : 0)}});
  std::cout.flush();
  return 0;
}

int keep_alive(Context& context, const SessionFlags& flags) {
  if (!flags.checks.checks.empty() && !flags.once) {
    return keep_bound(context, flags);
  }
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP};
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  if (!context.show_key(*client, flags.id)) {
    return context.exit_code();
  }
  while (true) {
    const auto described = client->keep_alive_once(flags.id);
    if (!described.ok()) {
      return context.fail(*client, described.status());
    }
    print_renewed(context, described.value());
    if (flags.once || !described.value().alive) {
      return 0;
    }
    const milliseconds ttl =
        described.value().ttl.count() != 0 ? described.value().ttl : kTtlUnseen;
    wait_readable({signals.fd()}, std::max(milliseconds{10}, ttl / 3));
    if (signals.take() != 0) {
      return 0;
    }
  }
}

int show(Context& context, const SessionFlags& flags) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  if (!context.show_key(*client, flags.id)) {
    return context.exit_code();
  }
  const auto described = client->session(flags.id);
  if (!described.ok()) {
    return context.fail(*client, described.status());
  }
  Json json = session_json(described.value());
  if (flags.keys) {
    json["keys"] = described.value().keys;
    json["keys_complete"] = described.value().keys.size() == described.value().lock_count;
  }
  if (flags.clients) {
    const auto origins = origins_of(*client, {flags.id});
    if (!origins.ok()) {
      return context.fail(*client, origins.status());
    }
    const auto found = origins.value().find(flags.id);
    json["client"] = found == origins.value().end() ? Json(nullptr) : origin_json(found->second);
  }
  context.output().print_facts(json);
  return static_cast<int>(described.value().alive ? protocol::ExitCode::Ok
                                                  : protocol::ExitCode::Negative);
}

// How many shards the nodes lead that can be reached.
std::uint64_t shards_in_reach(client::Client& client) {
  std::uint64_t led = 0;
  for (const client::NodeView& node : client.cluster().nodes) {
    if (!node.connected || node.node_id == 0) {
      continue;
    }
    const auto status = client.node_status(node.node_id);
    const Json told = status.ok() ? parse_json(status.value()) : Json{};
    led += told.is_object() ? unsigned_of(told["leaders"]).value_or(0) : 0;
  }
  return led;
}

// A close ends what the nodes lead to which it goes, so it is whole where these lead every shard:
// at once when all nodes are there, and an election after one has died. Says why not.
Status wait_for_leaders(Context& context, client::Client& client) {
  const auto until = std::chrono::steady_clock::now() + context.timeout();
  const std::uint64_t all = client.cluster().shard_count;
  while (!client.wait_for_all_nodes(std::min(context.timeout(), kLookAgain)).ok()) {
    const std::uint64_t led = shards_in_reach(client);
    if (led >= all) {
      break;
    }
    if (std::chrono::steady_clock::now() >= until) {
      return protocol::make_error(protocol::ErrorCode::NoLeader,
                                  "the nodes that can be reached lead " + std::to_string(led) +
                                      " of " + std::to_string(all) +
                                      " shards, and the session was closed in these");
    }
  }
  return {};
}

int close(Context& context, const SessionFlags& flags) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const Status ready = wait_for_leaders(context, *client);
  // First, so that its key is shown before anything is asked: others may not see it.
  client::AttachOptions attach;
  attach.session_id = flags.id;
  auto session = context.attach(*client, attach);
  if (!session.ok()) {
    return context.fail(*client, session.status());
  }
  if (!living_session(context, *client, flags.id).has_value()) {
    return context.exit_code();
  }
  const client::Status closed = session.value().close();
  if (!closed.ok()) {
    return context.fail(*client, closed);
  }
  if (!ready.ok()) {
    return context.fail(ready);
  }
  context.output().print_facts({{"session", std::to_string(flags.id)}, {"closed", true}});
  return 0;
}

struct Verbs {
  const char* group;
  const char* help;
  const char* open;
  const char* show;
  const char* close;
};

void add_id(Command& app, SessionFlags& flags) {
  app.add_option("ID", flags.id, "id of the session")->required();
}

void add_group(Command& app, Context& context, const Verbs& verbs) {
  auto flags = std::make_shared<SessionFlags>();
  Command* group = app.add_subcommand(verbs.group, verbs.help);
  group->require_subcommand(1);
  Command* verb =
      add_verb(*group, context, flags, verbs.open, "open a session that lives for its TTL", open);
  verb->add_option("--ttl", flags->ttl, "time to live without renewal (default 10s)")
      ->type_name("TIME");
  add_check_flags(*verb, flags->checks);
  add_check_close_flag(*verb, flags->checks);
  verb->footer(
      "With --check the command keeps running, renews the session while the checks pass, and "
      "closes\n"
      "it when a signal comes. Exit code 1 when the session was lost.");
  verb->add_option(
          "--id", flags->id, "an id of your choice below 2^48; GC6301 if such a session exists")
      ->type_name("ID");
  verb =
      add_verb(*group,
               context,
               flags,
               "keep-alive",
               "renew a session until a signal comes or it ends; prints TTL 0 for an ended session",
               keep_alive);
  add_id(*verb, *flags);
  add_check_flags(*verb, flags->checks);
  add_check_close_flag(*verb, flags->checks);
  verb->add_flag("--once", flags->once, "renew the session once");
  verb = add_verb(
      *group,
      context,
      flags,
      verbs.show,
      "show time left, granted TTL and number of locks; exit 1 and -1 for an ended session",
      show);
  add_id(*verb, *flags);
  verb->add_flag("--keys", flags->keys, "list its locks");
  verb->add_flag("--clients", flags->clients, "show who is behind it");
  add_session_list(*group, context);
  verb = add_verb(*group,
                  context,
                  flags,
                  verbs.close,
                  "end a session and release its locks; exit 1 if there is no such session",
                  close);
  add_id(*verb, *flags);
}

}  // namespace

void add_session_commands(Command& app, Context& context) {
  add_group(app,
            context,
            {"session", "open, renew, show, list and close sessions", "open", "show", "close"});
  add_group(
      app,
      context,
      {"lease", "the session commands under etcd's name, lease", "grant", "timetolive", "revoke"});
}

}  // namespace gcoord::cli
