// gcoordctl lock move: moves the lock of a name to another shard, with its holder and its queue.
#include "cli/terminal/command.h"

#include <memory>

namespace gcoord::cli {

namespace {

struct MoveFlags {
  std::string name;
  std::uint32_t to_shard = 0;
};

int move_lock(Context& context, const MoveFlags& flags) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const auto moved = client->move_lock(flags.name, flags.to_shard);
  if (!moved.ok()) {
    return context.fail(*client, moved);
  }
  context.output().print_facts({{"name", flags.name}, {"shard", flags.to_shard}, {"moved", true}});
  return 0;
}

}  // namespace

void add_lock_move_command(Command& lock, Context& context) {
  auto flags = std::make_shared<MoveFlags>();
  Command* app =
      lock.add_subcommand("move", "move a lock to another shard, with its holder and its queue");
  app->add_option("NAME", flags->name, "name of the lock")->required()->names_locks();
  app->add_option("--to-shard", flags->to_shard, "number of the target shard")
      ->required()
      ->type_name("S");
  app->callback([&context, flags] {
    context.choose([flags](Context& chosen) { return move_lock(chosen, *flags); });
  });
}

}  // namespace gcoord::cli
