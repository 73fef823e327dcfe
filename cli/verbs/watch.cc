// gcoordctl watch NAME | --prefix P | --session S, and gcoordctl elect observe NAME.
//
// One line per event, written out at once, so that a script can read along; a signal ends it with
// exit code 0. With --wait-for it is a question that waits for its answer, as `consul watch` and
// long polls are: it looks first, so that nothing is missed between the look and the wait.
#include "cli/terminal/command.h"
#include "cli/terminal/hidden.h"
#include "cli/terminal/signal_closes.h"
#include "common/text/printable.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {

namespace {

using client::WatchBatch;
using client::WatchEvent;
using protocol::ErrorCode;
using std::chrono::milliseconds;

constexpr std::array kEventKinds = {client::EventKind::Granted,
                                    client::EventKind::Released,
                                    client::EventKind::Expired,
                                    client::EventKind::Broken,
                                    client::EventKind::ValueChanged,
                                    client::EventKind::Waiting,
                                    client::EventKind::Left};

struct WatchFlags {
  std::string name;
  std::optional<std::string> prefix;
  std::uint64_t session = 0;
  std::string from;
  bool waiters = false;
  std::string events;
  bool previous = false;
  std::uint64_t count = 0;
  std::string wait_for;
};

void add_previous(Json& json, const client::PreviousHold& previous) {
  json["previous"] = client::previous_name(previous.kind);
  if (previous.kind != client::PreviousKind::Hold) {
    return;
  }
  json["previous_token"] = token_value(previous.session_id, previous.token);
  json["previous_session"] = session_value(previous.session_id);
  if (!previous.value.empty()) {
    json["previous_value"] = previous.value;
  }
}

Json event_json(const WatchFlags& flags, const WatchBatch& batch, const WatchEvent& event) {
  Json json = {{"event", client::event_name(event.kind)},
               {"name", event.name},
               {"token", token_value(event.session_id, event.token)},
               {"session", session_value(event.session_id)},
               {"shard", batch.shard},
               {"revision", std::to_string(batch.revision)}};
  if (!event.value.empty()) {
    json["value"] = event.value;
  }
  if (flags.previous) {
    add_previous(json, event.previous);
  }
  return json;
}

// "granted jobs/train token=5 session=7 shard=3 revision=17".
void print_line(const Context& context, const Json& json) {
  if (context.output().format() == Format::JsonLines) {
    context.output().print_facts(json);
  } else {
    std::string line;
    for (const auto& [key, value] : json.items()) {
      const bool quoted = !value.is_string() || key == "value" || key == "previous_value";
      const std::string text = quoted ? value.dump() : shown(value.text());
      const bool bare = key == "event" || key == "name";
      line += (line.empty() ? "" : " ") + (bare ? text : key + "=" + text);
    }
    std::cout << line << "\n";
  }
  std::cout.flush();
}

std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? std::optional{number} : std::nullopt;
}

// "17" for a name; "3:17,5:1" for shards 3 and 5. False for anything else.
bool read_from(const WatchFlags& flags, client::WatchOptions& options) {
  if (flags.from.empty()) {
    return true;
  }
  if (const auto revision = number_of(flags.from); revision && !flags.name.empty()) {
    options.from_revision = *revision;
    return *revision != 0;
  }
  std::istringstream parts(flags.from);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t colon = part.find(':');
    const auto shard = number_of(part.substr(0, colon));
    const auto revision =
        colon == std::string::npos ? std::nullopt : number_of(part.substr(colon + 1));
    if (!shard || !revision || *shard > 0xffff'ffffu || *revision == 0) {
      return false;
    }
    options.from.push_back({static_cast<std::uint32_t>(*shard), *revision});
  }
  return true;
}

// "granted,released". False for what is none of them.
bool read_events(std::string_view text, std::vector<client::EventKind>& kinds) {
  for (bool more = !text.empty(); more;) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const auto known = std::ranges::find_if(kEventKinds, [&](const client::EventKind kind) {
      return client::event_name(kind) == part;
    });
    if (known == kEventKinds.end()) {
      return false;
    }
    kinds.push_back(*known);
    more = comma != std::string_view::npos;
    text.remove_prefix(more ? comma + 1 : 0);
  }
  return true;
}

std::string all_events() {
  std::string names;
  for (const client::EventKind kind : kEventKinds) {
    names += (names.empty() ? "" : ", ") + std::string{client::event_name(kind)};
  }
  return names;
}

// Ok, or what is missing or cannot be meant.
Status mistake_in(const WatchFlags& flags, client::WatchOptions& options) {
  const int targets =
      (flags.name.empty() ? 0 : 1) + (flags.prefix ? 1 : 0) + (flags.session != 0 ? 1 : 0);
  if (targets != 1) {
    return protocol::make_error(targets == 0 ? ErrorCode::OptionMissing : ErrorCode::OptionInvalid,
                                "give one of NAME, --prefix and --session");
  }
  if (!flags.wait_for.empty() && flags.name.empty()) {
    return protocol::make_error(ErrorCode::OptionMissing, "--wait-for needs a NAME");
  }
  std::string wrong;
  if (!read_from(flags, options)) {
    wrong = "--from '" + flags.from + "' is neither a revision nor SHARD:REVISION,...";
  } else if (!read_events(flags.events, options.kinds)) {
    wrong = "--events '" + flags.events + "' names none of " + all_events();
  } else if (!flags.events.empty() && !flags.wait_for.empty() && flags.wait_for != "change") {
    wrong = "--events goes with --wait-for change alone";
  }
  return wrong.empty() ? Status{} : protocol::make_error(ErrorCode::OptionInvalid, wrong);
}

std::optional<client::WatchOptions> watch_options(const Context& context,
                                                  const WatchFlags& flags,
                                                  int& exit_code) {
  client::WatchOptions options{.name = flags.name,
                               .prefix = flags.prefix,
                               .session_id = flags.session,
                               .waiters = flags.waiters,
                               .previous = flags.previous};
  if (const Status mistake = mistake_in(flags, options); !mistake.ok()) {
    exit_code = context.fail(mistake);
    return std::nullopt;
  }
  return options;
}

// How often a stream without events looks whether there can be any.
constexpr milliseconds kLook{500};

// What a node says of a login or a certificate that will not become good by itself.
constexpr std::array kLoginRefusals = {ErrorCode::AuthenticationFailed,
                                       ErrorCode::TokenMalformed,
                                       ErrorCode::TokenForeign,
                                       ErrorCode::TokenRevoked,
                                       ErrorCode::TlsOwnExpired,
                                       ErrorCode::TlsOwnRevoked,
                                       ErrorCode::TlsOwnUntrusted};

// Why nothing will happen any more: no node is connected, and a majority refuses the login, as they
// do once its password is another one. Ok: something may.
Status login_refusal(const client::Client& client) {
  const client::ClusterView cluster = client.cluster();
  std::size_t refusing = 0;
  std::size_t node_count = 0;
  Status refusal;
  for (const client::NodeView& node : cluster.nodes) {
    node_count += node.node_id != 0 ? 1 : 0;
    const auto code = static_cast<ErrorCode>(node.last_error_number);
    if (node.connected) {
      return {};
    }
    if (node.node_id != 0 && std::ranges::find(kLoginRefusals, code) != kLoginRefusals.end()) {
      ++refusing;
      refusal = protocol::make_error(code, node.address);
    }
  }
  return refusing > node_count / 2 ? refusal : Status{};
}

// Says on stderr, once each, that no majority can be reached, so that nothing can happen, and that
// one can be reached again. A node that was not tried yet counts as one that can be.
class Majority {
 public:
  void look(const client::Client& client) {
    std::size_t connected = 0;
    std::size_t failed = 0;
    std::size_t node_count = 0;
    for (const client::NodeView& node : client.cluster().nodes) {
      node_count += node.node_id != 0 ? 1 : 0;
      connected += node.connected ? 1 : 0;
      failed += node.node_id != 0 && !node.connected && !node.last_error.empty() ? 1 : 0;
    }
    const bool lacking = node_count - failed <= node_count / 2;
    if (lacking && !lacking_) {
      talk("waiting: " + std::to_string(connected) + " of " + std::to_string(node_count) +
           " nodes can be reached; nothing happens until a majority is up");
    } else if (lacking_ && connected > node_count / 2) {
      talk("a majority can be reached again");
    }
    lacking_ = lacking || (lacking_ && connected <= node_count / 2);
  }

 private:
  bool lacking_ = false;
};

int stream(Context& context,
           const client::Client& client,
           client::Watch& watch,
           const WatchFlags& flags,
           const SignalCloses& signals) {
  std::uint64_t seen = 0;
  Majority majority;
  while (flags.count == 0 || seen < flags.count) {
    const auto batch = watch.next(kLook);
    if (!batch.ok()) {
      return signals.signal() != 0 ? 0 : context.fail(client, batch.status());
    }
    if (!batch.value()) {
      if (const Status refused = login_refusal(client); !refused.ok()) {
        return context.fail(refused);
      }
      majority.look(client);
      continue;
    }
    for (const WatchEvent& event : batch.value()->events) {
      print_line(context, event_json(flags, *batch.value(), event));
      ++seen;
      if (seen == flags.count) {
        break;
      }
    }
  }
  return 0;
}

bool holds(const client::LockDescription& lock, const std::string& wanted) {
  return (lock.holder_session != 0) == (wanted == "held");
}

// The lock as it is; a lock that nobody knows is free.
client::Result<client::LockDescription> look(client::Client& client, const std::string& name) {
  auto lock = client.get(name);
  const auto absent = static_cast<std::uint32_t>(ErrorCode::LockAbsent);
  if (!lock.ok() && lock.status().detail() == absent) {
    return client::LockDescription{.name = name};
  }
  return lock;
}

int print_state(Context& context, const client::LockDescription& lock) {
  context.output().print_facts({{"name", lock.name},
                                {"held", lock.holder_session != 0},
                                {"session", session_value(lock.holder_session)},
                                {"token", token_value(lock.holder_session, lock.token)}});
  return 0;
}

int wait_for(Context& context,
             client::Client& client,
             client::Watch& watch,
             const WatchFlags& flags,
             const SignalCloses& signals) {
  const bool change = flags.wait_for == "change";
  const auto until = std::chrono::steady_clock::now() + context.timeout();
  while (true) {
    const auto lock = look(client, flags.name);
    if (!lock.ok()) {
      return context.fail(client, lock.status());
    }
    if (!change && holds(lock.value(), flags.wait_for)) {
      return print_state(context, lock.value());
    }
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    const auto batch = watch.next(std::max(left, milliseconds{0}));
    if (!batch.ok()) {
      return signals.signal() != 0 ? 128 + signals.signal() : context.fail(client, batch.status());
    }
    if (!batch.value()) {
      return context.fail(protocol::make_error(ErrorCode::WatchTimedOut, flags.name));
    }
    if (change) {
      print_line(context, event_json(flags, *batch.value(), batch.value()->events.front()));
      return 0;
    }
  }
}

int watch(Context& context, const WatchFlags& flags) {
  int exit_code = 0;
  auto options = watch_options(context, flags, exit_code);
  if (!options) {
    return exit_code;
  }
  const SignalFd signal_fd{SIGINT, SIGTERM, SIGHUP};
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  // Who may not see sessions of others sees the one whose key it shows.
  if (flags.session != 0 && !context.show_key(*client, flags.session)) {
    return context.exit_code();
  }
  auto opened = client->watch(std::move(*options));
  if (!opened.ok()) {
    return context.fail(*client, opened.status());
  }
  client::Watch& watch = opened.value();
  const SignalCloses signals{signal_fd, [&watch] { watch.close(); }};
  return flags.wait_for.empty() ? stream(context, *client, watch, flags, signals)
                                : wait_for(context, *client, watch, flags, signals);
}

struct ObserveFlags {
  std::string name;
  std::uint64_t count = 0;
};

int observe(Context& context, const ObserveFlags& flags) {
  const SignalFd signal_fd{SIGINT, SIGTERM, SIGHUP};
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  auto opened = client->observe(flags.name);
  if (!opened.ok()) {
    return context.fail(*client, opened.status());
  }
  client::LeaderStream& leaders = opened.value();
  const SignalCloses signals{signal_fd, [&leaders] { leaders.close(); }};
  Majority majority;
  for (std::uint64_t seen = 0; flags.count == 0 || seen < flags.count;) {
    const auto office = leaders.next(kLook);
    if (!office.ok()) {
      return signals.signal() != 0 ? 0 : context.fail(*client, office.status());
    }
    if (!office.value()) {
      if (const Status refused = login_refusal(*client); !refused.ok()) {
        return context.fail(refused);
      }
      majority.look(*client);
      continue;
    }
    Json json = {{"event", "leader"},
                 {"name", flags.name},
                 {"epoch", std::to_string(office.value()->epoch)},
                 {"session", std::to_string(office.value()->session_id)}};
    if (!office.value()->value.empty()) {
      json["value"] = office.value()->value;
    }
    print_line(context, json);
    ++seen;
  }
  return 0;
}

}  // namespace

void add_watch_command(Command& app, Context& context) {
  auto flags = std::make_shared<WatchFlags>();
  Command* verb =
      app.add_subcommand("watch", "print the events of names, one line each, until a signal comes");
  verb->add_option("NAME", flags->name, "name of a lock or of an election")->names_locks();
  verb->add_option("--prefix", flags->prefix, "all names with this prefix; '' for all names")
      ->type_name("P")
      ->names_locks();
  verb->add_option("--session", flags->session, "the holds and waits of a session")->type_name("S");
  verb->add_option("--from",
                   flags->from,
                   "begin at a past revision: one REVISION for NAME, else SHARD:REVISION,...")
      ->type_name("REV");
  verb->add_flag("--waiters", flags->waiters, "include the begin and the end of waits");
  verb->add_option("--events", flags->events, "only events of these kinds: " + all_events())
      ->type_name("KIND,...");
  verb->add_flag(
      "--previous",
      flags->previous,
      "include the state before each event: a hold, nothing, or unknown to an earlier release");
  verb->add_option("--count", flags->count, "exit after this number of events, 1 or more")
      ->in_range(1, 0xffff'ffffu)
      ->type_name("N");
  verb->add_option("--wait-for",
                   flags->wait_for,
                   "wait until NAME is free, is held, or changes; exit 1 if this does not happen "
                   "within --timeout")
      ->one_of({"free", "held", "change"})
      ->type_name("WHAT");
  verb->callback([&context, flags] {
    context.choose([flags](Context& chosen) { return watch(chosen, *flags); });
  });
}

void add_elect_observe_command(Command& elect, Context& context) {
  auto flags = std::make_shared<ObserveFlags>();
  Command* verb = elect.add_subcommand(
      "observe", "print the leader and each new leader, one line each, until a signal comes");
  verb->add_option("NAME", flags->name, "name of the election, which is the name of a lock")
      ->required()
      ->names_locks();
  verb->add_option("--count", flags->count, "exit after this number of leaders, 1 or more")
      ->in_range(1, 0xffff'ffffu)
      ->type_name("N");
  verb->callback([&context, flags] {
    context.choose([flags](Context& chosen) { return observe(chosen, *flags); });
  });
}

}  // namespace gcoord::cli
