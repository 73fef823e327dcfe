// gcoordctl limit, deny: the parser's side.
#include "cli/limits/limits.h"
#include "cli/terminal/command.h"

#include <memory>

namespace gcoord::cli {

namespace {

using client::LimitsAction;

struct LimitVerb {
  const char* name;
  LimitsAction action{};
  const char* help;
};

// A verb with the options that all changes take.
struct ChangeVerb {
  Command* command;
  LimitFlags& flags;
};

ChangeVerb add_change(Command& group, Context& context, const LimitVerb& verb) {
  const auto flags = std::make_shared<LimitFlags>();
  flags->action = verb.action;
  Command* command = add_verb(group, context, flags, verb.name, verb.help, &change_limits);
  add_change_flags(*command, flags->change, {.of = "epoch of limits"});
  return {command, *flags};  // The body keeps them.
}

void add_limit_subject(const ChangeVerb& verb) {
  LimitSubjectFlags& subject = verb.flags.subject;
  const bool sets = verb.flags.action == LimitsAction::Set;
  Option* principal =
      verb.command
          ->add_option("--principal",
                       subject.principal,
                       "of this principal; -: of each address that has proven nobody; *: of each "
                       "that has no limit of its own")
          ->type_name("NAME")
          ->names(sets ? NamesOf::Principals : NamesOf::LimitPrincipals);
  Option* prefix =
      verb.command
          ->add_option(
              "--prefix", subject.prefix, "of all clients together, on names that begin so")
          ->type_name("PREFIX")
          ->names(sets ? NamesOf::Locks : NamesOf::LimitPrefixes)
          ->excludes(principal);
  verb.command->add_option("--network", subject.network, "of all addresses of a network together")
      ->type_name("ADDRESS/BITS")
      ->names(NamesOf::LimitNetworks)
      ->excludes(principal)
      ->excludes(prefix);
}

void add_denial_subject(const ChangeVerb& verb) {
  LimitSubjectFlags& subject = verb.flags.subject;
  const bool adds = verb.flags.action == LimitsAction::Deny;
  Option* principal = verb.command->add_option("--principal", subject.principal, "this principal")
                          ->type_name("NAME")
                          ->names(adds ? NamesOf::Principals : NamesOf::DeniedPrincipals);
  Option* serial =
      verb.command->add_option("--serial", subject.serial, "the certificate with this serial")
          ->type_name("HEX")
          ->names(adds ? NamesOf::Nothing : NamesOf::DeniedSerials)
          ->excludes(principal);
  Option* name = verb.command
                     ->add_option("--name",
                                  subject.name,
                                  "certificates with this subject alternative name or common name")
                     ->type_name("NAME")
                     ->names(adds ? NamesOf::Nothing : NamesOf::DeniedNames)
                     ->excludes(principal)
                     ->excludes(serial);
  verb.command->add_option("--network", subject.network, "an address, or all of a network")
      ->type_name("ADDRESS[/BITS]")
      ->names(adds ? NamesOf::Nothing : NamesOf::DeniedNetworks)
      ->excludes(principal)
      ->excludes(serial)
      ->excludes(name);
}

void add_numbers(const ChangeVerb& verb) {
  client::Limit& limit = verb.flags.limit;
  Command& command = *verb.command;
  command.add_option("--rate", limit.rate, "requests a second at each node")->type_name("N");
  command.add_option("--burst", limit.burst, "requests at once (default: the rate)")
      ->type_name("N");
  command.add_option("--connections", limit.connections, "connections to each node")
      ->type_name("N");
  command.add_option("--sessions", limit.sessions, "sessions opened by each node")->type_name("N");
  command.add_option("--locks", limit.locks, "locks held")->type_name("N");
  command.add_option("--waiters", limit.waiters, "requests that wait for locks")->type_name("N");
  command.add_option("--watches", limit.watches, "watches at each node")->type_name("N");
  command.add_option("--bytes", limit.bytes, "bytes of replies that are not read, at each node")
      ->type_name("N");
  command
      .add_option("--session-ttl-max",
                  verb.flags.session_ttl_max,
                  "longest TTL of sessions, 100ms to 24h; requests with a longer one get GC6745")
      ->type_name("TIME");
}

void add_list(Command& group, Context& context, bool denials) {
  const auto flags = std::make_shared<LimitListFlags>();
  flags->denials = denials;
  add_verb(group,
           context,
           flags,
           "list",
           denials ? "list the denials that have not ended" : "list all limits",
           &list_limits);
}

}  // namespace

void add_limit_commands(Command& app, Context& context) {
  Command* limit =
      app.add_subcommand("limit", "how much clients may ask for")->require_subcommand(1);
  const ChangeVerb set =
      add_change(*limit, context, {"set", LimitsAction::Set, "set a limit, or another one"});
  add_limit_subject(set);
  add_numbers(set);
  add_limit_subject(
      add_change(*limit, context, {"remove", LimitsAction::Remove, "remove a limit"}));
  add_list(*limit, context, false);
  Command* deny =
      app.add_subcommand("deny", "who is denied the cluster for some time")->require_subcommand(1);
  const ChangeVerb add = add_change(
      *deny, context, {"add", LimitsAction::Deny, "close connections, and refuse them for a time"});
  add_denial_subject(add);
  add.command->add_option("--for", add.flags.duration, "how long, 1s to 30d")
      ->required()
      ->type_name("TIME");
  add.command->add_option("--reason", add.flags.reason, "for other operators")->type_name("TEXT");
  add_denial_subject(
      add_change(*deny, context, {"remove", LimitsAction::Allow, "end a denial before its time"}));
  add_list(*deny, context, true);
}

}  // namespace gcoord::cli
