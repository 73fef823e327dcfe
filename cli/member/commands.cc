// gcoordctl member list|watch|update: the parser's side.
#include "cli/member/list.h"
#include "cli/member/update.h"
#include "cli/member/watch.h"
#include "cli/terminal/command.h"

#include <memory>

namespace gcoord::cli {

namespace {

void add_list(Command& member, Context& context) {
  member
      .add_subcommand("list",
                      "list the nodes of the cluster as its newest view has them, and whether the "
                      "other nodes hear them")
      ->callback(
          [&context] { context.choose([](Context& chosen) { return list_members(chosen); }); });
}

void add_watch(Command& member, Context& context) {
  const auto flags = std::make_shared<MemberWatchFlags>();
  Command* verb =
      add_verb(member,
               context,
               flags,
               "watch",
               "print the newest view of the cluster, then a line for each new one, until a signal",
               &watch_members);
  verb->add_option("--after",
                   flags->after,
                   "begin with the view that follows this one (default: the newest)")
      ->type_name("VIEW");
  verb->add_option("--count", flags->count, "end after this many views (default 0: never)")
      ->type_name("N");
}

void add_update(Command& member, Context& context) {
  const auto flags = std::make_shared<MemberUpdateFlags>();
  Command* verb =
      add_verb(member,
               context,
               flags,
               "update",
               "change the name or the labels of a node, if the view is still this one; "
               "the ledger records the author",
               &update_member);
  verb->add_option("ID", flags->node, "id of the node")->required();
  verb->add_option("--name", flags->name, "its new name")->type_name("NAME");
  verb->add_option("--label",
                   flags->labels,
                   "label to set, or with an empty value to take away; repeat for more")
      ->type_name("KEY=[VALUE]");
  verb->add_option("--view", flags->view, "epoch of the view that the change is for")
      ->required()
      ->type_name("VIEW");
  verb->add_flag("--dry-run", flags->dry_run, "show what would be, and change nothing");
  verb->add_option(
          "--as", flags->who, "author for the ledger (default: user@host); up to 128 bytes")
      ->type_name("WHO");
}

}  // namespace

void add_member_commands(Command& app, Context& context) {
  Command* member = app.add_subcommand("member", "nodes of the cluster")->require_subcommand(1);
  add_list(*member, context);
  add_watch(*member, context);
  add_update(*member, context);
}

}  // namespace gcoord::cli
