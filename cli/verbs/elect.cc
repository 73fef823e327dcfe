// gcoordctl elect campaign | leader | resign. The verbs of the line are in ctl_elect_line.cc.
//
// An election is the lock of its name (docs/reference/services.md). `campaign` stands in line,
// prints its epoch when it is elected, and leads until a signal ends it, which resigns, or until
// its session is lost: then it exits with 6, before a node could elect another. A shell that wants
// to know looks at the exit code, or asks `elect leader`.
#include "cli/terminal/check_flags.h"
#include "cli/terminal/command.h"
#include "cli/terminal/hidden.h"
#include "cli/terminal/living_session.h"
#include "cli/terminal/lock_flags.h"
#include "cli/terminal/wake_sources.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

namespace gcoord::cli {

namespace {

using std::chrono::milliseconds;

struct ElectOptions {
  std::string name;
  std::string ttl = "10s";
  WaitFlags wait;
  CheckFlags checks;
  bool once = false;
  std::uint64_t epoch = 0;
  std::uint64_t session = 0;
  std::string value;
  std::uint32_t priority = 0;
  std::string hysteresis;
  std::string review = "1s";
};

// A term that was handed over is found out of within this time, for want of an event.
constexpr milliseconds kLookAtOffice{100};

constexpr int kOfficeLostExit = static_cast<int>(protocol::ExitCode::Conflict);

// Waits until the campaign is over, or for a signal that ends it; the signal, or 0.
int wait_for_office(client::Future<client::Status> campaign,
                    const SignalFd& signals,
                    std::optional<client::Status>& outcome) {
  const auto waker = std::make_shared<Waker>();
  const auto promise = std::make_shared<std::promise<client::Status>>();
  auto future = promise->get_future();
  std::move(campaign).then([promise, waker](client::Status status) {
    promise->set_value(std::move(status));
    waker->wake();
  });
  while (future.wait_for(milliseconds(0)) != std::future_status::ready) {
    wait_readable({waker->fd(), signals.fd()}, std::chrono::hours(1));
    if (const int arrived = signals.take(); arrived != 0) {
      return arrived;
    }
  }
  outcome = future.get();
  return 0;
}

// Leads until a signal comes; false when the office was lost before that.
bool lead(const client::Client& client, const client::Election& election, const SignalFd& signals) {
  while (election.is_leader()) {
    const auto left = election.leader_until() - client.now();
    wait_readable({signals.fd()}, std::min(kLookAtOffice, std::chrono::ceil<milliseconds>(left)));
    if (signals.take() != 0) {
      return true;
    }
  }
  return false;
}

Json office_json(const client::Election& election,
                 const client::Session& session,
                 milliseconds ttl) {
  return {{"name", election.name()},
          {"epoch", std::to_string(election.epoch())},
          {"session", std::to_string(session.id())},
          {"ttl_ms", ttl.count()}};
}

// Prints the office and leaves it to live for a whole TTL from now on.
int leave_office_standing(Context& context,
                          const client::Client& client,
                          client::Session& session,
                          client::Election& election) {
  const client::Status renewed = session.renew();
  if (!renewed.ok() && !session.alive()) {
    return context.fail(client, renewed);
  }
  // Without a majority to say so, only what is left of the last time is certain.
  const auto ttl = renewed.ok() ? session.ttl() : session.remaining();
  context.output().print_facts(office_json(election, session, ttl));
  election.detach();
  session.detach();
  return 0;
}

int hold_office(Context& context,
                const client::Client& client,
                client::Session& session,
                client::Election& election,
                const SignalFd& signals) {
  context.output().print_facts(office_json(election, session, session.remaining()));
  std::cout.flush();
  if (!lead(client, election, signals)) {
    const auto why =
        session.alive() ? protocol::ErrorCode::OfficeLost : protocol::ErrorCode::SessionExpired;
    context.fail(
        protocol::make_error(why, "the term of epoch " + std::to_string(election.epoch())));
    return kOfficeLostExit;
  }
  const client::Status resigned = election.resign();
  const client::Status closed = session.close();
  if (!resigned.ok() && !closed.ok()) {
    talk("could not resign; the term ends with its session: " + resigned.to_string());
  }
  return 0;
}

std::optional<client::CampaignOptions> campaign_of(Context& context, const ElectOptions& options) {
  client::CampaignOptions how;
  const auto wait = wait_of(context, options.wait);
  if (!wait.has_value()) {
    return std::nullopt;
  }
  how.wait = *wait;
  how.value = options.value;
  how.priority = options.priority;
  const auto review = context.duration("--review", options.review);
  if (!review.has_value()) {
    return std::nullopt;
  }
  how.review = *review;
  if (!context.read_duration("--hysteresis", options.hysteresis, how.hysteresis)) {
    return std::nullopt;
  }
  return how;
}

int campaign(Context& context, const ElectOptions& options) {
  const auto ttl = context.duration("--ttl", options.ttl);
  const auto how = campaign_of(context, options);
  auto health = health_of(context, options.checks);
  if (!ttl.has_value() || !how.has_value() || !health.has_value()) {
    return context.exit_code();
  }
  if (options.once && !options.checks.checks.empty()) {
    return context.fail(protocol::make_error(
        protocol::ErrorCode::OptionInvalid,
        "--check does not go with --once: no process would be left to run it"));
  }
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  auto opened = client->open_session({.ttl = *ttl, .health = *std::move(health)});
  if (!opened.ok()) {
    return context.fail(*client, opened.status());
  }
  client::Session& session = opened.value();
  client::Election election = session.election(options.name);
  std::optional<client::Status> outcome;
  const int signal = wait_for_office(election.campaign_async(*how), signals, outcome);
  if (signal != 0) {
    const client::Status closed = session.close();
    talk("stopped campaigning in '" + options.name + "'" +
         (closed.ok() ? "" : "; it leaves the queue when its session ends"));
    return 128 + signal;
  }
  if (!outcome->ok()) {
    return context.fail(*client, *outcome);
  }
  return options.once ? leave_office_standing(context, *client, session, election)
                      : hold_office(context, *client, session, election, signals);
}

int leader(Context& context, const ElectOptions& options) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const auto found = client->leader(options.name);
  if (!found.ok()) {
    return context.fail(*client, found.status());
  }
  const client::Leader& leader = found.value();
  const bool hidden = is_hidden(leader.session_id);
  Json json = {{"name", options.name},
               {"session", session_value(leader.session_id)},
               {"epoch", token_value(leader.session_id, leader.epoch)},
               {"ttl_ms", leader.ttl_left.count()},
               {"candidates_waiting", leader.candidates_waiting},
               {"value", value_unless(hidden, leader.value)}};
  if (context.output().format() != Format::Tables) {
    add_hidden(json, hidden, kHolderRight);
  } else if (hidden) {
    json["session"] = json["epoch"] = json["value"] = "hidden";
    talk(hidden_line("who leads is", kHolderRight));
  }
  context.output().print_facts(json);
  return 0;
}

// Whether the lock service said that this candidate leads no more; then there is nothing to do.
bool is_stale(const client::Status& status) {
  switch (static_cast<protocol::ErrorCode>(status.detail())) {
    case protocol::ErrorCode::LockNotHeld:
    case protocol::ErrorCode::TokenStale:
    case protocol::ErrorCode::HolderOther:
    case protocol::ErrorCode::SessionExpired:
    case protocol::ErrorCode::SessionUnknown:
    case protocol::ErrorCode::SessionClosed:
      return true;
    default:
      return false;
  }
}

int resign(Context& context, const ElectOptions& options) {
  const auto status =
      release_elsewhere(context,
                        {.name = options.name, .session = options.session, .token = options.epoch},
                        &is_stale);
  if (!status) {
    return context.exit_code();
  }
  context.output().print_facts({{"name", options.name},
                                {"epoch", std::to_string(options.epoch)},
                                {"resigned", status->ok()}});
  return 0;
}

}  // namespace

void add_elect_commands(Command& app, Context& context) {
  auto options = std::make_shared<ElectOptions>();
  Command* elect = app.add_subcommand("elect", "campaign in elections and show leaders");
  elect->require_subcommand(1);

  Command* verb = add_elect_verb(
      *elect,
      context,
      options,
      "campaign",
      "wait in the queue, then lead until a signal comes; exit 6 if leadership is lost",
      campaign);
  verb->add_option(
          "--ttl", options->ttl, "time that leadership outlives this process (default 10s)")
      ->type_name("TIME");
  add_wait_flags(*verb, options->wait);
  add_check_flags(*verb, options->checks);
  verb->add_flag(
      "--once", options->once, "exit when elected; leadership lasts for the TTL unless resigned");

  add_elect_observe_command(*elect, context);
  verb->add_option("--value",
                   options->value,
                   "value of the candidate and of its term, which others can read")
      ->type_name("TEXT");
  verb->add_option("--priority",
                   options->priority,
                   "priority of the candidate, 0 to 255; higher is preferred (default 0)")
      ->in_range(0, 255)
      ->type_name("N");
  verb->add_option("--hysteresis",
                   options->hysteresis,
                   "as leader, hand over to a candidate of higher priority after it has waited "
                   "this long (default: never)")
      ->type_name("TIME");
  verb->add_option("--review",
                   options->review,
                   "as leader, time between checks of the queue for preferred candidates and for "
                   "elect transfer (default 1s, 0: never)")
      ->type_name("TIME");

  add_elect_verb(
      *elect, context, options, "leader", "show the leader; exit 1 if there is none", leader);

  verb =
      add_elect_verb(*elect,
                     context,
                     options,
                     "resign",
                     "hand over to the next candidate in the queue; an ended epoch changes nothing",
                     resign);
  verb->add_option("--epoch", options->epoch, "epoch that the campaign printed")
      ->required()
      ->type_name("E");
  verb->add_option("--session", options->session, "session id that the campaign printed")
      ->required()
      ->type_name("S");
  add_elect_line_commands(*elect, context);
}

}  // namespace gcoord::cli
