// gcoordctl lock break: takes a lock from its holders by force.
//
// Who does it is written into the log with the reason: the name of the user and of the machine,
// unless --as says another. Nothing proves either; what is proved is where the request came from
// (ledger get: origin).
#include "cli/terminal/author.h"
#include "cli/terminal/command.h"

#include <memory>

namespace gcoord::cli {

namespace {

struct BreakFlags {
  std::string name;
  std::uint64_t token = 0;
  std::string reason;
  std::string who;
};

int break_lock(Context& context, const BreakFlags& flags) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const std::string who = flags.who.empty() ? author() : flags.who;
  const auto broken =
      client->break_lock(flags.name, {.token = flags.token, .who = who, .reason = flags.reason});
  if (!broken.ok()) {
    return context.fail(*client, broken.status());
  }
  context.output().print_facts({{"name", flags.name},
                                {"token", std::to_string(broken.value().token)},
                                {"session", std::to_string(broken.value().session_id)},
                                {"by", who},
                                {"reason", flags.reason},
                                {"broken", true}});
  return 0;
}

}  // namespace

void add_lock_break_command(Command& lock, Context& context) {
  auto flags = std::make_shared<BreakFlags>();
  Command* app = lock.add_subcommand(
      "break",
      "take a lock from its holders by force; the ledger records the author and the reason");
  app->add_option("NAME", flags->name, "name of the lock")->required()->names_locks();
  app->add_option("--reason", flags->reason, "reason for the ledger; up to 512 bytes")
      ->required()
      ->type_name("TEXT");
  app->add_option(
         "--token", flags->token, "break only the hold with this token (default: all holds)")
      ->type_name("T");
  app->add_option("--as", flags->who, "author for the ledger (default: user@host); up to 128 bytes")
      ->type_name("WHO");
  app->callback([&context, flags] {
    context.choose([flags](Context& chosen) { return break_lock(chosen, *flags); });
  });
}

}  // namespace gcoord::cli
