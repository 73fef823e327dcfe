// gcoordctl alarm: what the nodes have raised about the cluster, and an operator's word that it was
// seen.
//
// All nodes are asked, because each has alarms of its own. One that does not answer has a line, and
// comes back with what holds then.
#include "cli/alarm/rows.h"
#include "cli/terminal/author.h"
#include "cli/terminal/command.h"
#include "cli/terminal/named_nodes.h"
#include "protocol/error_codes.h"
#include "protocol/members/alarm_messages.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

namespace {

struct DisarmFlags {
  std::string alarm;
  std::string who;
};

// A node that has no such alarm has answered.
void add_answer(AlarmRows& rows,
                std::uint32_t node,
                const client::Result<std::vector<client::ClusterAlarm>>& answer) {
  const bool none =
      answer.status().detail() == static_cast<std::uint32_t>(protocol::ErrorCode::AlarmUnknown);
  if (none) {
    rows.add(node, std::vector<client::ClusterAlarm>{});
  } else {
    rows.add(node, answer);
  }
}

// Asks all nodes; the program's exit code when that could not be done or nobody answered.
std::optional<int> ask_alarms(Context& context,
                              const client::AlarmChange& change,
                              AlarmRows& rows) {
  const auto refused = ask_nodes(context, 0, [&](client::Client& client, std::uint32_t node) {
    add_answer(rows, node, client.alarms(node, change));
  });
  if (refused) {
    return refused;
  }
  const client::Status failure = rows.failure();
  return failure.ok() ? std::nullopt : std::optional(context.output().fail(failure));
}

int list_alarms(Context& context) {
  AlarmRows rows;
  if (const auto refused = ask_alarms(context, {}, rows)) {
    return *refused;
  }
  context.output().print(rows.json(), rows.table());
  return 0;
}

// Of an alarm that no node has raised nothing is disarmed anywhere.
int disarm_alarm(Context& context, const DisarmFlags& flags) {
  const auto choice = parse_alarm_choice(flags.alarm);
  if (!choice) {
    return context.fail(protocol::make_error(protocol::ErrorCode::AlarmUnknown, flags.alarm));
  }
  AlarmRows raised;
  if (const auto refused = ask_alarms(context, {}, raised)) {
    return *refused;
  }
  if (!raised.keep(*choice)) {
    return context.fail(protocol::make_error(protocol::ErrorCode::AlarmUnknown, flags.alarm));
  }
  const std::string who = flags.who.empty() ? author() : flags.who;
  const client::AlarmChange change{.disarm = true,
                                   .kind = choice->kind,
                                   .about = choice->about,
                                   .who = who.substr(0, protocol::kAlarmWhoBytesMax)};
  AlarmRows rows;
  if (const auto refused = ask_alarms(context, change, rows)) {
    return *refused;
  }
  rows.keep(*choice);
  context.output().print(rows.json(), rows.table());
  return 0;
}

}  // namespace

void add_alarm_commands(Command& app, Context& context) {
  Command* alarm =
      app.add_subcommand("alarm", "alarms of the nodes about the cluster")->require_subcommand(1);
  alarm
      ->add_subcommand("list",
                       "list the alarms that any node has raised, since when they hold, and what "
                       "may be done")
      ->callback(
          [&context] { context.choose([](Context& chosen) { return list_alarms(chosen); }); });
  const auto flags = std::make_shared<DisarmFlags>();
  Command* disarm = add_verb(*alarm,
                             context,
                             flags,
                             "disarm",
                             "let alarms count no more, at every node that answers, until they "
                             "arise anew",
                             &disarm_alarm);
  disarm->add_option("ALARM", flags->alarm, "KIND:NODE as alarm list prints it, KIND, or all")
      ->required();
  disarm
      ->add_option(
          "--as", flags->who, "author for the nodes' logs (default: user@host); up to 128 bytes")
      ->type_name("WHO");
}

}  // namespace gcoord::cli
