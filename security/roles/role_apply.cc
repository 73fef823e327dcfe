#include "security/roles/role_apply.h"

#include "security/roles/grant_rules.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gcoord::security {

namespace {

// Whether all names are of roles that there are.
bool are_roles(const AccessTable& table, const std::vector<std::string>& names) {
  return std::ranges::all_of(names, [&](const auto& name) { return has_role(table, name); });
}

void insert_name(std::vector<std::string>& names, const std::string& name) {
  const auto place = std::ranges::lower_bound(names, name);
  if (place == names.end() || *place != name) {
    names.insert(place, name);
  }
}

// False: it was not there.
bool erase_name(std::vector<std::string>& names, std::string_view name) {
  return std::erase(names, name) != 0;
}

bool is_verifier(const Verifier& verifier) {
  return verifier.is_none() ? verifier.bytes.empty()
                            : !verifier.bytes.empty() && verifier.bytes.size() <= kVerifierBytesMax;
}

AccessCode check_size(const AccessTable& table) {
  return table.row_bytes <= kTableBytesMax ? AccessCode::Applied : AccessCode::TableFull;
}

// While rights are checked somebody must be able to change them.
AccessCode check_admin(const AccessTable& table) {
  return !table.enabled || has_admin(table) ? AccessCode::Applied : AccessCode::LastAdmin;
}

AccessCode check_includes(const AccessTable& table) {
  const auto depth = include_depth(table);
  if (!depth) {
    return AccessCode::IncludeLoop;
  }
  return *depth <= kIncludeDepthMax ? check_admin(table) : AccessCode::IncludeTooDeep;
}

// Puts `changed` in the place of the row, judges the table, and puts the row back if it may not
// be.
template <typename Iterator, typename Row>
AccessCode replace_row(AccessTable& table, Iterator row, Row changed) {
  const std::size_t bytes_before = table.row_bytes;
  table.row_bytes += bytes_of(row->first, changed);
  table.row_bytes -= bytes_of(row->first, row->second);
  std::swap(row->second, changed);
  AccessCode code = check_size(table);
  if (code == AccessCode::Applied) {
    code = std::is_same_v<Row, Role> ? check_includes(table) : check_admin(table);
  }
  if (code != AccessCode::Applied) {
    std::swap(row->second, changed);
    table.row_bytes = bytes_before;
  }
  return code;
}

AccessCode add_user(AccessTable& table, const AccessCommand& command) {
  if (!is_user_name(command.name)) {
    return AccessCode::NameInvalid;
  }
  if (table.users.contains(command.name)) {
    return AccessCode::UserExists;
  }
  if (table.users.size() >= kUsersMax) {
    return AccessCode::TooManyUsers;
  }
  if (!is_verifier(command.verifier)) {
    return AccessCode::VerifierInvalid;
  }
  if (!are_roles(table, command.roles)) {
    return AccessCode::RoleUnknown;
  }
  User user{
      .verifier = command.verifier, .roles = {}, .disabled = false, .changed = table.epoch + 1};
  for (const std::string& role : command.roles) {
    insert_name(user.roles, role);
  }
  table.row_bytes += bytes_of(command.name, user);
  if (const AccessCode code = check_size(table); code != AccessCode::Applied) {
    table.row_bytes -= bytes_of(command.name, user);
    return code;
  }
  table.users.emplace(command.name, std::move(user));
  return AccessCode::Applied;
}

AccessCode delete_user(AccessTable& table, Users::iterator row) {
  auto taken = table.users.extract(row);
  if (check_admin(table) != AccessCode::Applied) {
    table.users.insert(std::move(taken));
    return AccessCode::LastAdmin;
  }
  table.row_bytes -= bytes_of(taken.key(), taken.mapped());
  return AccessCode::Applied;
}

AccessCode grant_roles(AccessTable& table, User& user, const AccessCommand& command) {
  if (!are_roles(table, command.roles) || command.roles.empty()) {
    return AccessCode::RoleUnknown;
  }
  for (const std::string& role : command.roles) {
    insert_name(user.roles, role);
  }
  return user.roles.size() <= kRolesOfUserMax ? AccessCode::Applied : AccessCode::TooManyRoles;
}

AccessCode revoke_roles(User& user, const AccessCommand& command) {
  for (const std::string& role : command.roles) {
    if (!erase_name(user.roles, role)) {
      return AccessCode::NothingToRevoke;
    }
  }
  return command.roles.empty() ? AccessCode::NothingToRevoke : AccessCode::Applied;
}

AccessCode set_disabled(User& user, bool disabled) {
  if (user.disabled == disabled) {
    return AccessCode::StateWrong;
  }
  user.disabled = disabled;
  return AccessCode::Applied;
}

// What the command makes of one user.
AccessCode change_user(AccessTable& table, User& user, const AccessCommand& command) {
  switch (command.kind) {
    case AccessKind::UserPassword:
      user.verifier = command.verifier;
      user.changed = table.epoch + 1;
      return is_verifier(command.verifier) ? AccessCode::Applied : AccessCode::VerifierInvalid;
    case AccessKind::UserGrant:
      return grant_roles(table, user, command);
    case AccessKind::UserRevoke:
      return revoke_roles(user, command);
    default:
      user.changed = table.epoch + 1;
      return set_disabled(user, command.kind == AccessKind::UserDisable);
  }
}

AccessCode on_user(AccessTable& table, const AccessCommand& command) {
  if (command.kind == AccessKind::UserAdd) {
    return add_user(table, command);
  }
  const auto row = table.users.find(command.name);
  if (row == table.users.end()) {
    return AccessCode::UserUnknown;
  }
  if (command.kind == AccessKind::UserDelete) {
    return delete_user(table, row);
  }
  User changed = row->second;
  const AccessCode code = change_user(table, changed, command);
  return code == AccessCode::Applied ? replace_row(table, row, std::move(changed)) : code;
}

// Adds what the command grants and includes.
AccessCode widen(const AccessTable& table, Role& role, const AccessCommand& command) {
  const bool empty = command.grants.empty() && command.roles.empty();
  if (!std::ranges::all_of(command.grants, is_grant) ||
      (empty && command.kind == AccessKind::RoleGrant)) {
    return AccessCode::GrantInvalid;
  }
  if (!are_roles(table, command.roles)) {
    return AccessCode::RoleUnknown;
  }
  for (const Grant& grant : command.grants) {
    add_grant(role.grants, grant);
  }
  for (const std::string& name : command.roles) {
    if (name == command.name) {
      return AccessCode::IncludeLoop;
    }
    insert_name(role.includes, name);
  }
  if (role.includes.size() > kIncludesMax) {
    return AccessCode::TooManyRoles;
  }
  return role.grants.size() <= kGrantsMax ? AccessCode::Applied : AccessCode::TooManyGrants;
}

AccessCode narrow(Role& role, const AccessCommand& command) {
  bool all = !command.grants.empty() || !command.roles.empty();
  for (const Grant& grant : command.grants) {
    all = take_grant(role.grants, grant) && all;
  }
  for (const std::string& name : command.roles) {
    all = erase_name(role.includes, name) && all;
  }
  return all ? AccessCode::Applied : AccessCode::NothingToRevoke;
}

AccessCode add_role(AccessTable& table, const AccessCommand& command) {
  if (table.roles.contains(command.name)) {
    return AccessCode::RoleExists;
  }
  if (table.roles.size() >= kRolesMax) {
    return AccessCode::TooManyRoles;
  }
  Role role;
  if (const AccessCode code = widen(table, role, command); code != AccessCode::Applied) {
    return code;
  }
  const auto row = table.roles.emplace(command.name, Role{}).first;
  table.row_bytes += bytes_of(command.name, row->second);
  const AccessCode code = replace_row(table, row, std::move(role));
  if (code != AccessCode::Applied) {
    table.row_bytes -= bytes_of(command.name, row->second);
    table.roles.erase(row);
  }
  return code;
}

// Takes the role from all that have it.
AccessCode delete_role(AccessTable& table, const std::string& name) {
  AccessTable next = table;
  next.roles.erase(name);
  for (auto& [each, user] : next.users) {
    erase_name(user.roles, name);
  }
  for (auto& [each, role] : next.roles) {
    erase_name(role.includes, name);
  }
  if (const AccessCode code = check_admin(next); code != AccessCode::Applied) {
    return code;
  }
  next.row_bytes = 0;
  for (const auto& [each, user] : next.users) {
    next.row_bytes += bytes_of(each, user);
  }
  for (const auto& [each, role] : next.roles) {
    next.row_bytes += bytes_of(each, role);
  }
  table = std::move(next);
  return AccessCode::Applied;
}

AccessCode on_role(AccessTable& table, const AccessCommand& command) {
  if (!is_role_name(command.name)) {
    return AccessCode::NameInvalid;
  }
  if (command.name == kRootRole) {
    return AccessCode::RoleReserved;
  }
  if (command.kind == AccessKind::RoleAdd) {
    return add_role(table, command);
  }
  const auto row = table.roles.find(command.name);
  if (row == table.roles.end()) {
    return AccessCode::RoleUnknown;
  }
  if (command.kind == AccessKind::RoleDelete) {
    return delete_role(table, command.name);
  }
  Role changed = row->second;
  const bool grants = command.kind == AccessKind::RoleGrant;
  const AccessCode code = grants ? widen(table, changed, command) : narrow(changed, command);
  return code == AccessCode::Applied ? replace_row(table, row, std::move(changed)) : code;
}

AccessCode on_switch(AccessTable& table, const AccessCommand& command) {
  const bool enable = command.kind == AccessKind::Enable;
  const bool recover = command.kind == AccessKind::Recover;
  if (table.enabled == enable && !recover) {
    return AccessCode::StateWrong;
  }
  if (enable && !has_admin(table)) {
    return AccessCode::NoAdmin;
  }
  table.enabled = enable;
  if (recover) {
    ++table.recoveries;
    table.recovered = command.marks;
  }
  return AccessCode::Applied;
}

AccessCode change(AccessTable& table, const AccessCommand& command) {
  switch (command.kind) {
    case AccessKind::UserAdd:
    case AccessKind::UserDelete:
    case AccessKind::UserPassword:
    case AccessKind::UserGrant:
    case AccessKind::UserRevoke:
    case AccessKind::UserEnable:
    case AccessKind::UserDisable:
      return on_user(table, command);
    case AccessKind::RoleAdd:
    case AccessKind::RoleDelete:
    case AccessKind::RoleGrant:
    case AccessKind::RoleRevoke:
      return on_role(table, command);
    case AccessKind::Enable:
    case AccessKind::Disable:
    case AccessKind::Recover:
      return on_switch(table, command);
  }
  return AccessCode::Malformed;
}

enum class Seen : std::uint8_t { No, Open, Done };

struct Depths {
  const AccessTable& table;
  std::map<std::string_view, std::pair<Seen, std::size_t>> of;

  // 0: a role includes itself. There are at most kRolesMax roles, so that calls end.
  std::size_t depth(std::string_view name) {
    auto& [seen, deepest] = of[name];
    if (seen != Seen::No) {
      return seen == Seen::Open ? 0 : deepest;
    }
    seen = Seen::Open;
    std::size_t below = 0;
    if (const auto role = table.roles.find(name); role != table.roles.end()) {
      for (const std::string& each : role->second.includes) {
        const std::size_t one = depth(each);
        if (one == 0) {
          return 0;
        }
        below = std::max(below, one);
      }
    }
    seen = Seen::Done;
    deepest = below + 1;
    return deepest;
  }
};

}  // namespace

AccessCode apply(AccessTable& table, const AccessCommand& command) {
  if (command.expected != table.epoch) {
    return AccessCode::Stale;
  }
  const AccessCode code = change(table, command);
  if (code == AccessCode::Applied) {
    ++table.epoch;
    table.numbers.push_back(command.number);
    if (table.numbers.size() > kChangesKept) {
      table.numbers.pop_front();
    }
  }
  return code;
}

std::optional<std::size_t> include_depth(const AccessTable& table) {
  Depths depths{table, {}};
  std::size_t deepest = 0;
  for (const auto& [name, role] : table.roles) {
    const std::size_t depth = depths.depth(name);
    if (depth == 0) {
      return std::nullopt;
    }
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

}  // namespace gcoord::security
