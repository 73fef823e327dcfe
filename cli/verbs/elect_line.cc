// gcoordctl elect candidates | proclaim | transfer: who stands in line, what the leader says, and
// who leads next.
//
// `transfer` asks the leader, which hands over with its next look at the line (campaign --review),
// and waits until that has happened. With the session and the epoch that a campaign printed it
// speaks for the leader instead, which is for leaders that left (campaign --once): a process that
// still leads would not hear of it.
#include "cli/terminal/command.h"
#include "cli/terminal/hidden.h"
#include "cli/terminal/wake_sources.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace gcoord::cli {

namespace {

using std::chrono::milliseconds;

struct LineOptions {
  std::string name;
  std::string value;
  std::string to;
  std::string wait = "10s";
  std::uint64_t epoch = 0;
  std::uint64_t session = 0;
};

// An ask is heard with the leader's next look, so asking more often brings nothing.
constexpr milliseconds kAskAgain{200};

Json candidate_json(const client::CandidateView& candidate, std::size_t place) {
  return {{"place", place},
          {"session", session_value(candidate.session_id)},
          {"priority", candidate.priority},
          {"waited_ms", candidate.waited.count()},
          {"value", value_unless(is_hidden(candidate.session_id), candidate.value)}};
}

int candidates(Context& context, const LineOptions& options) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const auto found = client->candidates(options.name);
  if (!found.ok()) {
    return context.fail(*client, found.status());
  }
  const client::Leader& leader = found.value().leader;
  Json line = Json::array();
  Table table{{"PLACE", "SESSION", "PRIORITY", "WAITED_MS", "VALUE"}, {}, "", {}};
  const bool hidden = is_hidden(leader.session_id);
  table.caption = hidden ? options.name + ": who leads is hidden"
                         : options.name + ": session " + session_text(leader.session_id) +
                               " leads in epoch " + std::to_string(leader.epoch) +
                               (leader.value.empty() ? "" : ": " + leader.value);
  for (const client::CandidateView& candidate : found.value().candidates) {
    const std::size_t place = line.size() + 1;
    line.push_back(candidate_json(candidate, place));
    table.rows.push_back({std::to_string(place),
                          session_text(candidate.session_id),
                          std::to_string(candidate.priority),
                          std::to_string(candidate.waited.count()),
                          text_unless(is_hidden(candidate.session_id), candidate.value)});
  }
  Json json = {{"name", options.name},
               {"session", session_value(leader.session_id)},
               {"epoch", token_value(leader.session_id, leader.epoch)},
               {"value", value_unless(hidden, leader.value)},
               {"candidates_waiting", leader.candidates_waiting},
               {"candidates", line}};
  add_hidden(json, hidden, kHolderRight);
  context.output().print(json, table);
  if (hidden && context.output().format() == Format::Tables) {
    talk(hidden_line("the leader and the candidates are", kHolderRight));
  }
  return 0;
}

// Speaks for the session that the options name; its owner goes on keeping it alive.
client::Result<client::Session> holder(const Context& context,
                                       client::Client& client,
                                       const LineOptions& options) {
  client::AttachOptions attach;
  attach.session_id = options.session;
  return context.attach(client, attach);
}

int proclaim(Context& context, const LineOptions& options) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  auto session = holder(context, *client, options);
  if (!session.ok()) {
    return context.fail(*client, session.status());
  }
  const client::Status said = session.value().proclaim(options.name, options.epoch, options.value);
  session.value().detach();
  if (!said.ok()) {
    return context.fail(*client, said);
  }
  context.output().print_facts(
      {{"name", options.name}, {"epoch", std::to_string(options.epoch)}, {"value", options.value}});
  return 0;
}

// The candidate that the user means: by its session, or by a value that only one of them has.
client::Result<std::uint64_t> target_of(const std::string& to, const client::ElectionView& line) {
  std::uint64_t number = 0;
  const char* end = to.data() + to.size();
  const bool numeric = std::from_chars(to.data(), end, number).ptr == end;
  const auto by_session = [&](const auto& each) { return numeric && each.session_id == number; };
  if (std::ranges::any_of(line.candidates, by_session) || by_session(line.leader)) {
    return number;
  }
  const auto same = [&](const client::CandidateView& each) { return each.value == to; };
  const auto found = std::ranges::find_if(line.candidates, same);
  const auto count = std::ranges::count_if(line.candidates, same);
  if (count == 1) {
    return found->session_id;
  }
  const auto code =
      count == 0 ? protocol::ErrorCode::CandidateAbsent : protocol::ErrorCode::CandidateAmbiguous;
  const Status status = protocol::make_error(code, "'" + to + "'");
  return client::Status{static_cast<client::StatusCode>(status.code()),
                        std::string{status.message()},
                        static_cast<std::uint32_t>(code)};
}

int print_leader(Context& context, const LineOptions& options, const client::Leader& leader) {
  context.output().print_facts({{"name", options.name},
                                {"session", session_value(leader.session_id)},
                                {"epoch", std::to_string(leader.epoch)},
                                {"value", leader.value}});
  return 0;
}

// Asks until the candidate leads, the term ends otherwise, or the time is over.
int ask_until_led(Context& context,
                  client::Client& client,
                  const LineOptions& options,
                  std::uint64_t target) {
  const auto wait = context.duration("--wait", options.wait);
  if (!wait.has_value()) {
    return context.exit_code();
  }
  const SignalFd signals{SIGINT, SIGTERM};
  const client::TimePoint deadline = client.now() + client::TimePoint{*wait};
  std::uint64_t epoch = 0;
  while (true) {
    const auto line = client.candidates(options.name);
    if (!line.ok()) {
      return context.fail(client, line.status());
    }
    if (line.value().leader.session_id == target) {
      return print_leader(context, options, line.value().leader);
    }
    epoch = epoch == 0 ? line.value().leader.epoch : epoch;
    if (const auto asked = client.ask_transfer(options.name, target, epoch); !asked.ok()) {
      // It may have been carried out between the two questions.
      const auto leader = client.leader(options.name);
      const bool done = leader.ok() && leader.value().session_id == target;
      return done ? print_leader(context, options, leader.value()) : context.fail(client, asked);
    }
    if (client.now() >= deadline) {
      return context.fail(protocol::make_error(protocol::ErrorCode::TransferUnanswered,
                                               "the leader of epoch " + std::to_string(epoch)));
    }
    wait_readable({signals.fd()}, kAskAgain);
    if (const int signal = signals.take(); signal != 0) {
      return 128 + signal;
    }
  }
}

int transfer(Context& context, const LineOptions& options) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const auto line = client->candidates(options.name);
  if (!line.ok()) {
    return context.fail(*client, line.status());
  }
  const auto target = target_of(options.to, line.value());
  if (!target.ok()) {
    return context.fail(*client, target.status());
  }
  if (options.session == 0) {
    return ask_until_led(context, *client, options, target.value());
  }
  auto session = holder(context, *client, options);
  if (!session.ok()) {
    return context.fail(*client, session.status());
  }
  const client::Status given =
      session.value().transfer(options.name, options.epoch, target.value());
  session.value().detach();
  if (!given.ok()) {
    return context.fail(*client, given);
  }
  const auto leader = client->leader(options.name);
  return leader.ok() ? print_leader(context, options, leader.value())
                     : context.fail(*client, leader.status());
}

}  // namespace

void add_elect_line_commands(Command& elect, Context& context) {
  auto options = std::make_shared<LineOptions>();
  add_elect_verb(elect,
                 context,
                 options,
                 "candidates",
                 "show the leader and the queue of candidates; exit 1 if there is no leader",
                 candidates);

  Command* verb = add_elect_verb(elect,
                                 context,
                                 options,
                                 "proclaim",
                                 "change the leader's value; exit 1 if it does not lead any more",
                                 proclaim);
  verb->add_option("VALUE", options->value, "new value, up to 512 bytes")->required();
  verb->add_option("--epoch", options->epoch, "epoch that the campaign printed")
      ->required()
      ->type_name("E");
  verb->add_option("--session", options->session, "session id that the campaign printed")
      ->required()
      ->type_name("S");

  verb = add_elect_verb(
      elect,
      context,
      options,
      "transfer",
      "ask the leader to hand over to a candidate; exit 6 if it does not do so in time",
      transfer);
  verb->add_option("--to", options->to, "session or value of the candidate (elect candidates)")
      ->required()
      ->type_name("CANDIDATE");
  Option* wait =
      verb->add_option(
              "--wait", options->wait, "time to wait for the leader's answer (default 10s)")
          ->type_name("TIME");
  Option* epoch =
      verb->add_option("--epoch", options->epoch, "hand over as the leader of this epoch")
          ->type_name("E")
          ->excludes(wait);
  Option* session =
      verb->add_option(
              "--session", options->session, "session of that leader, whose own process has ended")
          ->type_name("S")
          ->needs(epoch);
  epoch->needs(session);
}

}  // namespace gcoord::cli
