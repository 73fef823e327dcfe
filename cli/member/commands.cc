// gcoordctl member: the parser's side.
#include "cli/member/add.h"
#include "cli/member/change.h"
#include "cli/member/forget_directory.h"
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
               "change the name, the labels or the weight of a node, if the view is still this "
               "one; the ledger records the author",
               &update_member);
  verb->add_option("NODE", flags->node, "id or name of the node")->required()->names_nodes();
  Option* name = verb->add_option("--name", flags->name, "its new name")->type_name("NAME");
  Option* label =
      verb->add_option("--label",
                       flags->labels,
                       "label to set, or with an empty value to take away; repeat for more")
          ->type_name("KEY=[VALUE]");
  verb->add_option("--weight", flags->weight, "its votes, 1 to 255")
      ->type_name("N")
      ->excludes(name)
      ->excludes(label);
  EpochWords words = kViewWords;
  words.required = true;
  add_change_flags(*verb, flags->change, words);
}

void add_forget_directory(Command& member, Context& context) {
  const auto flags = std::make_shared<ForgetDirectoryFlags>();
  Command* verb = add_verb(member,
                           context,
                           flags,
                           "forget-directory",
                           "let a stopped node forget which data directory another node had, "
                           "after it refused that node by mistake; talks to no node",
                           &forget_directory);
  verb->add_option("NODE", flags->node, "id of the other node")->in_range(1, 65535)->required();
  verb->add_option("--data-dir", flags->data_dir, "data directory of the stopped node")
      ->required()
      ->type_name("DIR");
}

// Options that all changes take.
void add_change_options(Command& verb, MemberChangeFlags& flags, bool waits) {
  add_change_flags(verb, flags.base, kViewWords);
  verb.add_flag("--force",
                flags.force,
                "change it also where a quorum of live nodes would be lost, or the node lags");
  if (waits) {
    verb.add_flag("--wait", flags.wait, "wait until it has come about, and show how far it is");
  }
}

struct ChangeVerb {
  const char* name;
  const char* help;
  int (*body)(Context&, const MemberChangeFlags&);
};

constexpr ChangeVerb kChangeVerbs[] = {
    {"promote",
     "make a joining node active: it becomes a voter of every shard, or stays an observer",
     &promote_member},
    {"remove",
     "take a node out of every shard, and then out of the cluster; its id is not used again",
     &remove_member},
    {"drain", "let a node lead nothing any more; it goes on voting", &drain_member},
    {"undrain", "let a drained node lead again", &undrain_member},
    {"move-leaders", "let a node hand over what it leads now, once", &move_leaders},
};

void add_changes(Command& member, Context& context) {
  for (const ChangeVerb& each : kChangeVerbs) {
    const auto flags = std::make_shared<MemberChangeFlags>();
    Command* verb = add_verb(member, context, flags, each.name, each.help, each.body);
    verb->add_option("NODE", flags->node, "id or name of the node")->required()->names_nodes();
    add_change_options(*verb, *flags, each.body != &undrain_member);
  }
}

// Options of a node that is to come.
void add_new_node_options(Command& verb, MemberAddFlags& flags) {
  verb.add_option("--label", flags.labels, "label of the new node; repeat for more")
      ->type_name("KEY=VALUE");
  verb.add_option("--weight", flags.weight, "votes of the new node, 1 to 255 (default 1)")
      ->type_name("N");
  verb.add_option("--token-ttl",
                  flags.token_ttl,
                  "how long somebody may join with the token, 1s to 168h (default 1h)")
      ->type_name("TIME");
  Command& command = verb;
  Option* aloud = command.add_flag(
      "--auto-promote", flags.auto_promote, "promote it once it has caught up (the default)");
  command.add_flag("--learner", flags.learner, "do not: it only follows until member promote")
      ->excludes(aloud);
  add_change_options(verb, flags.change, true);
}

void add_add(Command& member, Context& context) {
  const auto flags = std::make_shared<MemberAddFlags>();
  Command* verb = add_verb(member,
                           context,
                           flags,
                           "add",
                           "invite a node: print its id, its token and the command that starts it",
                           &add_member);
  verb->add_option("--name", flags->name, "name of the new node (default: node-ID)")
      ->type_name("NAME");
  Option* observer =
      verb->add_flag("--observer", flags->observer, "it follows all shards and never votes");
  verb->add_flag(
          "--witness", flags->witness, "it votes and has the log, has no state and never leads")
      ->excludes(observer);
  add_new_node_options(*verb, *flags);
}

void add_replace(Command& member, Context& context) {
  const auto flags = std::make_shared<MemberAddFlags>();
  Command* verb = add_verb(member,
                           context,
                           flags,
                           "replace",
                           "let a new node take the place of another in one change of each shard",
                           &replace_member);
  verb->add_option("OLD", flags->change.node, "id or name of the node to replace")
      ->required()
      ->names_nodes();
  verb->add_option("NEW",
                   flags->name,
                   "name of the new node (default: node-ID), or id or name of a node that joins "
                   "already; a number is an id")
      ->type_name("NEW")
      ->names_nodes();
  add_new_node_options(*verb, *flags);
}

}  // namespace

void add_member_commands(Command& app, Context& context) {
  Command* member = app.add_subcommand("member", "nodes of the cluster")->require_subcommand(1);
  add_list(*member, context);
  add_watch(*member, context);
  add_update(*member, context);
  add_add(*member, context);
  add_replace(*member, context);
  add_changes(*member, context);
  add_forget_directory(*member, context);
}

}  // namespace gcoord::cli
