#include "cli/group/verb.h"

#include "cli/group/rendezvous.h"
#include "cli/group/stay.h"
#include "cli/group/views.h"
#include "cli/terminal/wake_sources.h"
#include "gcoord/group.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

namespace gcoord::cli {
namespace {

using protocol::ErrorCode;

struct GroupFlags {
  std::string name;
  std::string id;
  std::string payload;
  std::string ttl = "10s";
  std::string wait = "30s";
  std::uint64_t session = 0;
  std::uint64_t count = 0;
  std::uint32_t size = 0;
  bool once = false;
};

// One that lives on without this process, for verbs that act for it.
std::optional<client::Session> session_of(Context& context,
                                          client::Client& client,
                                          std::uint64_t id) {
  client::AttachOptions attach;
  attach.session_id = id;
  attach.first_sequence =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count());
  auto session = context.attach(client, attach);
  if (!session.ok()) {
    context.refuse(client, session.status());
    return std::nullopt;
  }
  return std::move(session).value();
}

int join(Context& context, const GroupFlags& flags) {
  const auto ttl = context.duration("--ttl", flags.ttl);
  if (!ttl.has_value()) {
    return context.exit_code();
  }
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  auto opened = open_own(context, *client, *ttl);
  if (!opened.has_value()) {
    return context.exit_code();
  }
  client::Session& session = opened.value();
  client::Group group{session, flags.name};
  const auto joined = group.join(flags.id, flags.payload);
  if (!joined.ok()) {
    return context.fail(*client, joined.status());
  }
  if (flags.once) {
    if (const client::Status renewed = session.renew(); !renewed.ok() && !session.alive()) {
      return context.fail(*client, renewed);
    }
  }
  context.output().print_facts({{"name", flags.name},
                                {"id", flags.id},
                                {"epoch", std::to_string(joined.value().epoch)},
                                {"rank", joined.value().rank},
                                {"session", std::to_string(session.id())}});
  std::cout.flush();
  if (flags.once) {
    session.detach();
    return 0;
  }
  return stay(session, signals, [&] { return group.leave(); })
             ? 0
             : lost(context, "a member of " + flags.name);
}

int leave(Context& context, const GroupFlags& flags) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  auto session = session_of(context, *client, flags.session);
  if (!session.has_value()) {
    return context.exit_code();
  }
  client::Group group{*session, flags.name};
  const client::Status left = group.leave();
  session->detach();
  if (!left.ok()) {
    return context.fail(*client, left);
  }
  context.output().print_facts(
      {{"name", flags.name}, {"session", std::to_string(flags.session)}, {"left", true}});
  return 0;
}

int list(Context& context, const GroupFlags& flags) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  client::GroupViews views{*client, flags.name};
  const auto view = views.now();
  if (!view.ok()) {
    return context.fail(*client, view.status());
  }
  context.output().print(view_json(flags.name, view.value()), view_table(flags.name, view.value()));
  return 0;
}

// Nothing new yet, or nobody to say so: a watcher goes on.
bool may_pass(const client::Status& status) {
  const auto code = static_cast<ErrorCode>(status.detail());
  return protocol::is_passing(code) || code == ErrorCode::DeadlineExceeded ||
         code == ErrorCode::Unreachable || code == ErrorCode::ConnectionLost;
}

int watch(Context& context, const GroupFlags& flags) {
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  client::GroupViews views{*client, flags.name};
  std::uint64_t shown = 0;
  while (signals.take() == 0) {
    const auto view = views.next(kStayLook);
    if (!view.ok()) {
      if (may_pass(view.status())) {
        continue;
      }
      return context.fail(*client, view.status());
    }
    if (context.output().format() == Format::JsonLines) {
      context.output().print_facts(view_json(flags.name, view.value()));
    } else {
      std::cout << view_line(view.value()) << "\n";
    }
    std::cout.flush();
    if (++shown == flags.count) {
      break;
    }
  }
  return 0;
}

int barrier(Context& context, const GroupFlags& flags) {
  const auto ttl = context.duration("--ttl", flags.ttl);
  const auto wait = context.duration("--wait", flags.wait);
  if (!ttl.has_value() || !wait.has_value()) {
    return context.exit_code();
  }
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  auto opened = open_own(context, *client, *ttl);
  if (!opened.has_value()) {
    return context.exit_code();
  }
  client::Group group{opened.value(), flags.name};
  const client::Status passed = group.barrier({.size = flags.size, .timeout = *wait});
  const client::Status closed = opened.value().close();
  if (!passed.ok()) {
    return context.fail(*client, passed);
  }
  if (!closed.ok()) {
    talk("the session ends when its TTL has passed: " + closed.to_string());
  }
  context.output().print_facts({{"name", flags.name}, {"size", flags.size}, {"released", true}});
  return 0;
}

using GroupBody = int (*)(Context&, const GroupFlags&);

// Adds verbs that share flags.
class GroupVerbs {
 public:
  GroupVerbs(Command& group, Context& context) : group_(group), context_(context) {}

  GroupFlags& flags() { return *flags_; }

  Command* add(const char* verb, const char* help, GroupBody body) {
    Command* command = group_.add_subcommand(verb, help);
    command->add_option("NAME", flags_->name, "name of the group")->required();
    command->callback([&context = context_, flags = flags_, body] {
      context.choose([flags, body](Context& chosen) { return body(chosen, *flags); });
    });
    return command;
  }

 private:
  Command& group_;
  Context& context_;
  const std::shared_ptr<GroupFlags> flags_ = std::make_shared<GroupFlags>();
};

}  // namespace

void add_group_commands(Command& app, Context& context) {
  Command* group = app.add_subcommand("group", "groups of processes that see the same views");
  group->require_subcommand(1);
  GroupVerbs verbs{*group, context};
  GroupFlags& flags = verbs.flags();

  Command* verb = verbs.add("join",
                            "join and stay a member until a signal comes; exit 6 if the session is "
                            "lost",
                            join);
  verb->add_option("--id", flags.id, "id of the member, which no other member has")
      ->required()
      ->type_name("ID");
  verb->add_option("--payload", flags.payload, "what others read of the member, up to 512 bytes")
      ->type_name("TEXT");
  verb->add_option(
          "--ttl", flags.ttl, "time that the membership outlives this process (default 10s)")
      ->type_name("TIME");
  verb->add_flag("--once", flags.once, "exit when joined; the membership lasts for the TTL");

  verb = verbs.add("leave", "take a member out of a group", leave);
  verb->add_option("--session", flags.session, "session id that the join printed")
      ->required()
      ->type_name("S");

  verbs.add("list", "list the members of a group by rank", list);

  verb = verbs.add("watch", "print each view of a group, in order", watch);
  verb->add_option("--count", flags.count, "exit after so many views (default: never)")
      ->type_name("N");

  verb = verbs.add(
      "barrier", "wait until so many sessions have arrived at the barrier of this name", barrier);
  verb->add_option("--size", flags.size, "number of sessions, the same for all of them")
      ->required()
      ->in_range(1, 256)
      ->type_name("N");
  verb->add_option("--wait", flags.wait, "maximum time to wait for the others (default 30s)")
      ->type_name("TIME");
  verb->add_option("--ttl", flags.ttl, "TTL of the session that waits (default 10s)")
      ->type_name("TIME");
  add_rendezvous_verbs(*group, context);
}

}  // namespace gcoord::cli
