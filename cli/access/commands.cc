// gcoordctl user, role, auth: the parser's side.
#include "cli/access/changes.h"
#include "cli/access/queries.h"
#include "cli/access/whoami.h"
#include "cli/terminal/command.h"
#include "security/roles/rights.h"

#include <memory>
#include <string>
#include <vector>

namespace gcoord::cli {

namespace {

using client::AccessAction;

struct AccessVerb {
  const char* name;
  AccessAction action{};
  const char* help;
  const char* subject;               // Name of the first argument; none: there is none.
  NamesOf names = NamesOf::Nothing;  // What the argument names, if it is there already.
};

// A verb with the options that all changes take.
struct ChangeVerb {
  Command* command;
  AccessFlags& flags;
};

ChangeVerb add_change(Command& group, Context& context, const AccessVerb& verb) {
  const auto flags = std::make_shared<AccessFlags>();
  flags->action = verb.action;
  Command* command = add_verb(group, context, flags, verb.name, verb.help, &change_access);
  if (verb.subject != nullptr) {
    command->add_option(verb.subject, flags->name, "its name")->required()->names(verb.names);
  }
  add_change_flags(*command, flags->change, {.of = "epoch of users and roles"});
  return {command, *flags};  // The body keeps them.
}

void add_password_options(Command& verb, AccessFlags& flags) {
  Option* file =
      verb.add_option("--password-file",
                      flags.password_file,
                      "take the password from the first line of this file, - for standard input "
                      "(default: asked on the terminal)")
          ->type_name("FILE");
  verb.add_flag("--no-password", flags.no_password, "none: the user shows a certificate")
      ->excludes(file);
}

constexpr AccessVerb kUserChanges[] = {
    {"delete", AccessAction::UserDelete, "delete a user", "USER", NamesOf::Users},
    {"enable",
     AccessAction::UserEnable,
     "let a disabled user be somebody again",
     "USER",
     NamesOf::Users},
    {"disable",
     AccessAction::UserDisable,
     "let a user be nobody until it is enabled",
     "USER",
     NamesOf::Users},
};

constexpr AccessVerb kUserRoles[] = {
    {"grant", AccessAction::UserGrant, "give roles to a user", "USER", NamesOf::Users},
    {"revoke", AccessAction::UserRevoke, "take roles from a user", "USER", NamesOf::Users},
};

struct AccessQueries {
  const char* subject;
  NamesOf names = NamesOf::Nothing;
  int (*show)(Context&, const AccessListFlags&);
  int (*list)(Context&, const AccessListFlags&);
};

void add_queries(Command& group, Context& context, const AccessQueries& queries) {
  const auto named = std::make_shared<AccessListFlags>();
  add_verb(group, context, named, "get", "show one of them", queries.show)
      ->add_option(queries.subject, named->name, "its name")
      ->required()
      ->names(queries.names);
  const auto flags = std::make_shared<AccessListFlags>();
  Command* verb = add_verb(group, context, flags, "list", "list them by name", queries.list);
  verb->add_option("--after", flags->after, "only those with greater names")->type_name("NAME");
  verb->add_option("--limit", flags->limit, "at most so many (default 1000)")
      ->in_range(1, 1000)
      ->type_name("N");
}

void add_user_commands(Command& app, Context& context) {
  Command* user =
      app.add_subcommand("user", "users, who may do what their roles allow")->require_subcommand(1);
  const ChangeVerb add =
      add_change(*user, context, {"add", AccessAction::UserAdd, "make a user", "USER"});
  add.command->add_option("--role", add.flags.roles, "a role of it; repeat for more")
      ->type_name("ROLE")
      ->names(NamesOf::Roles)
      ->allow_extra_args(false);
  add_password_options(*add.command, add.flags);
  const ChangeVerb passwd = add_change(*user,
                                       context,
                                       {"passwd",
                                        AccessAction::UserPassword,
                                        "give a user another password",
                                        "USER",
                                        NamesOf::Users});
  add_password_options(*passwd.command, passwd.flags);
  for (const AccessVerb& verb : kUserChanges) {
    add_change(*user, context, verb);
  }
  for (const AccessVerb& verb : kUserRoles) {
    const ChangeVerb made = add_change(*user, context, verb);
    made.command->add_option("ROLE", made.flags.roles, "names of roles")
        ->required()
        ->names(NamesOf::Roles);
  }
  add_queries(*user, context, {"USER", NamesOf::Users, &show_user, &list_users});
}

// Names of rights, and words for several.
std::vector<std::string> words_of_rights() {
  std::vector<std::string> words;
  for (const security::RightRow& row : security::right_rows()) {
    words.emplace_back(row.name);
  }
  for (const security::RightAlias& alias : security::right_aliases()) {
    words.emplace_back(alias.name);
  }
  return words;
}

void add_grant_options(Command& verb, AccessFlags& flags) {
  verb.add_option("RIGHT",
                  flags.rights,
                  "names of rights, or read, details, write, admin (gcoordctl auth rights)")
      ->proposes(words_of_rights());
  Option* prefix =
      verb.add_option("--prefix",
                      flags.prefix,
                      "on names that begin so (default: on all, and on what has no name)")
          ->type_name("PREFIX")
          ->names_locks();
  verb.add_option("--only", flags.exact_name, "on this name alone")
      ->type_name("NAME")
      ->names_locks()
      ->excludes(prefix);
  verb.add_option("--include", flags.roles, "a role to be included; repeat for more")
      ->type_name("ROLE")
      ->names(NamesOf::Roles)
      ->allow_extra_args(false);
}

constexpr AccessVerb kRoleGrants[] = {
    {"add", AccessAction::RoleAdd, "make a role", "ROLE"},
    {"grant",
     AccessAction::RoleGrant,
     "grant rights to a role, or include others in it",
     "ROLE",
     NamesOf::Roles},
    {"revoke",
     AccessAction::RoleRevoke,
     "take rights or included roles from a role",
     "ROLE",
     NamesOf::Roles},
};

void add_role_commands(Command& app, Context& context) {
  Command* role =
      app.add_subcommand("role", "roles, which grant rights on names")->require_subcommand(1);
  for (const AccessVerb& verb : kRoleGrants) {
    const ChangeVerb made = add_change(*role, context, verb);
    add_grant_options(*made.command, made.flags);
  }
  add_change(*role,
             context,
             {"delete",
              AccessAction::RoleDelete,
              "delete a role, also from all that have it",
              "ROLE",
              NamesOf::Roles});
  add_queries(*role, context, {"ROLE", NamesOf::Roles, &show_role, &list_roles});
}

void add_whoami(Command& group, Context& context) {
  group
      .add_subcommand("whoami", "print who you are to a node, by which proof, and what you may do")
      ->callback([&context] { context.choose([](Context& chosen) { return whoami(chosen); }); });
}

void add_auth_commands(Command& app, Context& context) {
  Command* auth = app.add_subcommand("auth", "who you are, and whether rights are checked")
                      ->require_subcommand(1);
  add_change(*auth,
             context,
             {"enable",
              AccessAction::Enable,
              "check rights from now on; only over a connection that proves an administrator",
              nullptr});
  add_change(*auth,
             context,
             {"disable", AccessAction::Disable, "let everybody do everything again", nullptr});
  auth->add_subcommand("status", "say whether rights are checked")->callback([&context] {
    context.choose([](Context& chosen) { return show_auth_status(chosen); });
  });
  add_whoami(*auth, context);
  auth->add_subcommand("rights", "list all rights that there are")->callback([&context] {
    context.choose([](Context& chosen) { return list_rights(chosen); });
  });
}

}  // namespace

void add_access_commands(Command& app, Context& context) {
  add_user_commands(app, context);
  add_role_commands(app, context);
  add_auth_commands(app, context);
  add_whoami(app, context);
}

}  // namespace gcoord::cli
