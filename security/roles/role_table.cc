#include "security/roles/role_table.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

namespace gcoord::security {

namespace {

// Lengths and counts of a row, as role_cpu.cc writes it.
constexpr std::size_t kUserFixedBytes = 2 + 1 + 1 + 8 + 2 + 1;
constexpr std::size_t kRoleFixedBytes = 2 + 1 + 1;
constexpr std::size_t kGrantFixedBytes = 2 + 1 + 8;

std::size_t bytes_of_texts(const std::vector<std::string>& texts) {
  std::size_t bytes = 0;
  for (const std::string& text : texts) {
    bytes += 2 + text.size();
  }
  return bytes;
}

bool administers(const Role& role) {
  return std::ranges::any_of(role.grants, [](const Grant& grant) {
    return grant.prefix.empty() && (grant.rights & bit_of(Right::AuthAdmin)) != 0;
  });
}

// Roles through which a user may change users and roles: those that grant it, and those that
// include one of them, however deep. Each pass finds at least one more, or is the last.
std::set<std::string_view> admin_roles(const AccessTable& table) {
  std::set<std::string_view> found = {kRootRole};
  for (const auto& [name, role] : table.roles) {
    if (administers(role)) {
      found.insert(name);
    }
  }
  for (std::size_t before = 0; before != found.size();) {
    before = found.size();
    for (const auto& [name, role] : table.roles) {
      if (std::ranges::any_of(role.includes,
                              [&](const auto& each) { return found.contains(each); })) {
        found.insert(name);
      }
    }
  }
  return found;
}

RightMask own_rights_everywhere(const Role& role) {
  RightMask everywhere = 0;
  for (const Grant& grant : role.grants) {
    everywhere |= grant.prefix.empty() && !grant.exact ? grant.rights : 0;
  }
  return everywhere;
}

// Of each role with what it includes, in the order of the table. Each pass adds something, or is
// the last: there is at most one for each role within another.
std::vector<RightMask> rights_everywhere(const AccessTable& table) {
  std::vector<RightMask> rights;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const auto& [name, role] : table.roles) {
    places.emplace(name, rights.size());
    rights.push_back(own_rights_everywhere(role));
  }
  std::vector<std::pair<std::size_t, std::size_t>> includes;  // The outer one, the inner one.
  std::size_t outer = 0;
  for (const auto& [name, role] : table.roles) {
    for (const std::string& each : role.includes) {
      if (const auto found = places.find(each); found != places.end()) {
        includes.emplace_back(outer, found->second);
      } else if (each == kRootRole) {
        rights[outer] = kAllRights;
      }
    }
    ++outer;
  }
  for (bool more = true; more;) {
    more = false;
    for (const auto& [to, from] : includes) {
      more = more || (rights[from] & ~rights[to]) != 0;
      rights[to] |= rights[from];
    }
  }
  return rights;
}

}  // namespace

std::vector<std::string_view> roles_that_chose_sessions(const AccessTable& table) {
  const std::vector<RightMask> rights = rights_everywhere(table);
  std::vector<std::string_view> found;
  std::size_t place = 0;
  for (const auto& [name, role] : table.roles) {
    const RightMask everywhere = rights[place];
    ++place;
    if ((everywhere & bit_of(Right::SessionReadAll)) != 0 &&
        (everywhere & bit_of(Right::SessionChoose)) == 0) {
      found.push_back(name);
    }
  }
  return found;
}

std::size_t bytes_of(std::string_view name, const User& user) {
  return kUserFixedBytes + name.size() + user.verifier.bytes.size() + bytes_of_texts(user.roles);
}

std::size_t bytes_of(std::string_view name, const Role& role) {
  std::size_t bytes = kRoleFixedBytes + name.size() + bytes_of_texts(role.includes);
  for (const Grant& grant : role.grants) {
    bytes += kGrantFixedBytes + grant.prefix.size();
  }
  return bytes;
}

bool has_role(const AccessTable& table, std::string_view role) {
  return role == kRootRole || table.roles.contains(role);
}

std::vector<std::string_view> closure_of(const AccessTable& table,
                                         const std::vector<std::string>& roles) {
  std::set<std::string_view> seen;
  std::vector<std::string_view> open(roles.begin(), roles.end());
  while (!open.empty()) {
    const std::string_view name = open.back();
    open.pop_back();
    if (!has_role(table, name) || !seen.insert(name).second) {
      continue;
    }
    if (const auto found = table.roles.find(name); found != table.roles.end()) {
      open.insert(open.end(), found->second.includes.begin(), found->second.includes.end());
    }
  }
  return {seen.begin(), seen.end()};
}

bool has_admin(const AccessTable& table) {
  const std::set<std::string_view> admins = admin_roles(table);
  return std::ranges::any_of(table.users, [&](const auto& row) {
    const User& user = row.second;
    return !user.disabled && std::ranges::any_of(user.roles, [&](const std::string& role) {
      return admins.contains(role);
    });
  });
}

}  // namespace gcoord::security
