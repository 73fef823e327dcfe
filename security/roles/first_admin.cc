#include "security/roles/first_admin.h"

#include <utility>

namespace gcoord::security {

FirstAdmin::FirstAdmin(std::string name) : name_(std::move(name)) {
  User admin;
  admin.roles = {std::string{kRootRole}};
  for (std::size_t epoch = 0; epoch < tables_.size(); ++epoch) {
    AccessTable& table = tables_[epoch];
    table.epoch = epoch;
    table.enabled = true;
    admin.changed = epoch;
    table.users.emplace(name_, admin);
    table.row_bytes = bytes_of(name_, admin);
  }
}

bool FirstAdmin::begins(const AccessTable& table) const {
  if (table.enabled || table.recoveries != 0 || !table.roles.empty()) {
    return false;
  }
  if (table.epoch == 0) {
    return true;
  }
  return table.epoch == 1 && table.users == tables_[1].users;
}

std::optional<AccessCommand> FirstAdmin::next(const AccessTable& table) const {
  if (!begins(table)) {
    return std::nullopt;
  }
  AccessCommand command;
  command.expected = table.epoch;
  command.who = "gcoordd --first-admin";
  command.kind = table.epoch == 0 ? AccessKind::UserAdd : AccessKind::Enable;
  if (table.epoch == 0) {
    command.name = name_;
    command.roles = {std::string{kRootRole}};
  }
  return command;
}

}  // namespace gcoord::security
