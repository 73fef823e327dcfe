#include "cli/group/rendezvous.h"

#include "cli/group/stay.h"
#include "cli/terminal/wake_sources.h"
#include "gcoord/rendezvous.h"
#include "protocol/error_codes.h"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

namespace gcoord::cli {
namespace {

struct RendezvousFlags {
  std::string name;
  std::uint32_t members_min = 0;
  std::uint32_t members_max = 0;
  std::string last_call = "30s";
  std::string deadline = "10m";
  std::string payload;
  std::string ttl = "10s";
  bool once = false;
};

struct Shown {
  const RendezvousFlags& flags;
  const client::RendezvousRound& round;
  std::uint64_t session_id = 0;
};

void print_round(Context& context, const Shown& shown) {
  const client::RendezvousRound& round = shown.round;
  Json members = Json::array();
  Table table{{"RANK", "SESSION", "PAYLOAD"}, {}, {}, {}};
  for (std::size_t rank = 0; rank < round.members.size(); ++rank) {
    const client::RendezvousMember& member = round.members[rank];
    const std::string session = std::to_string(member.session_id);
    members.push_back({{"rank", rank}, {"session", session}, {"payload", member.payload}});
    table.rows.push_back({std::to_string(rank), session, member.payload});
  }
  table.caption = "round " + std::to_string(round.round) + " of " + shown.flags.name + ", rank " +
                  std::to_string(round.rank) + " of " + std::to_string(round.members.size());
  context.output().print({{"name", shown.flags.name},
                          {"round", std::to_string(round.round)},
                          {"rank", round.rank},
                          {"size", round.members.size()},
                          {"session", std::to_string(shown.session_id)},
                          {"members", members}},
                         table);
  std::cout.flush();
}

int rendezvous(Context& context, const RendezvousFlags& flags) {
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  const auto ttl = context.duration("--ttl", flags.ttl);
  const auto last_call = context.duration("--last-call", flags.last_call);
  const auto deadline = context.duration("--deadline", flags.deadline);
  if (!ttl.has_value() || !last_call.has_value() || !deadline.has_value()) {
    return context.exit_code();
  }
  auto cluster = context.connect();
  if (!cluster.has_value()) {
    return context.exit_code();
  }
  auto own = open_own(context, *cluster, *ttl);
  if (!own.has_value()) {
    return context.exit_code();
  }
  client::Session& session = own.value();
  client::Rendezvous rendezvous{session, flags.name};
  auto joining = rendezvous.join_async({.members_min = flags.members_min,
                                        .members_max = flags.members_max,
                                        .last_call = *last_call,
                                        .timeout = *deadline,
                                        .payload = flags.payload});
  while (!joining.wait_for(kStayLook)) {
    if (const int signal = signals.take(); signal != 0) {
      static_cast<void>(session.close());  // It is over with its TTL anyway.
      return 128 + signal;
    }
  }
  const auto joined = joining.get();
  if (!joined.ok()) {
    static_cast<void>(session.close());
    return context.fail(*cluster, joined.status());
  }
  print_round(context, {flags, joined.value(), session.id()});
  if (flags.once) {
    session.detach();
    return 0;
  }
  return stay(session, signals, [&] { return rendezvous.leave(); })
             ? 0
             : lost(context, "in a round of " + flags.name);
}

int round_now(Context& context, const RendezvousFlags& flags) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  client::RendezvousStates states{*client, flags.name};
  const auto seen = states.now();
  if (!seen.ok()) {
    return context.fail(*client, seen.status());
  }
  const client::RendezvousState& state = seen.value();
  Json alive = Json::array();
  for (std::uint32_t rank = 0; rank < state.size && rank < 64; ++rank) {
    if ((state.alive >> rank & 1u) != 0) {
      alive.push_back(rank);
    }
  }
  context.output().print_facts({{"name", flags.name},
                                {"version", std::to_string(state.version)},
                                {"round", std::to_string(state.round)},
                                {"size", state.size},
                                {"present", state.present},
                                {"alive", alive},
                                {"waiting", state.waiting},
                                {"min", state.members_min},
                                {"max", state.members_max},
                                {"last_call", state.last_call}});
  return 0;
}

using RendezvousBody = int (*)(Context&, const RendezvousFlags&);

// Adds verbs that share flags.
struct RendezvousVerbs {
  Command& group;
  Context& context;
  std::shared_ptr<RendezvousFlags> flags;

  Command* add(const char* name, const char* help, RendezvousBody body) const {
    Command* command = group.add_subcommand(name, help);
    command->add_option("NAME", flags->name, "name of the rendezvous")->required();
    command->callback([&chooser = context, shared = flags, body] {
      chooser.choose([shared, body](Context& chosen) { return body(chosen, *shared); });
    });
    return command;
  }
};

}  // namespace

void add_rendezvous_verbs(Command& group, Context& context) {
  const RendezvousVerbs verbs{group, context, std::make_shared<RendezvousFlags>()};
  RendezvousFlags& flags = *verbs.flags;
  Command* verb = verbs.add("rendezvous",
                            "wait for a round of so many processes and stay in it until a signal "
                            "comes; exit 6 if the session is lost",
                            rendezvous);
  verb->add_option("--min", flags.members_min, "members from which on the last call runs")
      ->required()
      ->in_range(1, 256)
      ->type_name("N");
  verb->add_option("--max", flags.members_max, "members with which the round is complete at once")
      ->required()
      ->in_range(1, 256)
      ->type_name("N");
  verb->add_option(
          "--last-call", flags.last_call, "time that others may still come then (default 30s)")
      ->type_name("TIME");
  verb->add_option("--deadline", flags.deadline, "maximum time to wait for the round (default 10m)")
      ->type_name("TIME");
  verb->add_option("--payload", flags.payload, "what others read of the member, up to 512 bytes")
      ->type_name("TEXT");
  verb->add_option("--ttl",
                   flags.ttl,
                   "time that the round keeps this process when it has died (default 10s)")
      ->type_name("TIME");
  verb->add_flag(
      "--once", flags.once, "exit when the round is complete; the session is in it for the TTL");
  verbs.add("round", "show the last round of a rendezvous and who waits", round_now);
}

}  // namespace gcoord::cli
