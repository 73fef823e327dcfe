#include "cli/access/changes.h"

#include "cli/access/password.h"
#include "cli/access/queries.h"
#include "cli/terminal/command.h"

#include <utility>

namespace gcoord::cli {

namespace {

using client::AccessAction;

bool takes_password(AccessAction action) {
  return action == AccessAction::UserAdd || action == AccessAction::UserPassword;
}

Result<std::string> password_of(const AccessFlags& flags) {
  if (!takes_password(flags.action) || flags.no_password) {
    return std::string{};
  }
  return flags.password_file.empty() ? asked_password(flags.name)
                                     : password_of_file(flags.password_file);
}

}  // namespace

int change_access(Context& context, const AccessFlags& flags) {
  auto password = password_of(flags);
  if (!password.ok()) {
    return context.fail(password.status());
  }
  client::AccessChange change;
  change.action = flags.action;
  change.name = flags.name;
  change.password = std::move(password).value();
  change.roles = flags.roles;
  if (!flags.rights.empty()) {
    const bool exact = !flags.exact_name.empty();
    change.grants.push_back({.rights = flags.rights,
                             .prefix = exact ? flags.exact_name : flags.prefix,
                             .exact = exact});
  }
  flags.change.fill(change);
  auto client = context.connect();
  if (!client) {
    return context.exit_code();
  }
  return ChangeEnd{context, *client, flags.change}.print(client->change_access(change),
                                                         &state_json);
}

}  // namespace gcoord::cli
