#include "security/roles/authorize.h"

#include "common/assert.h"

#include <map>
#include <utility>

namespace gcoord::security {

namespace {

using MaskByText = std::map<std::string_view, RightMask>;

std::vector<GrantEntry> entries_of(const MaskByText& masks, std::string& text) {
  std::vector<GrantEntry> entries;
  entries.reserve(masks.size());
  for (const auto& [name, rights] : masks) {
    entries.push_back({.text_at = static_cast<std::uint32_t>(text.size()),
                       .text_bytes = static_cast<std::uint32_t>(name.size()),
                       .parent = 0,
                       .reserved = 0,
                       .rights = rights});
    text += name;
  }
  return entries;
}

// Rising order puts a prefix before all that begin with it, so those open at an entry are its
// prefixes.
void link(std::vector<GrantEntry>& entries, const std::string& text) {
  const auto text_of = [&text](const GrantEntry& entry) {
    return std::string_view{text}.substr(entry.text_at, entry.text_bytes);
  };
  std::vector<std::uint32_t> open;
  for (std::uint32_t place = 0; place < entries.size(); ++place) {
    GrantEntry& entry = entries[place];
    while (!open.empty() && !text_of(entry).starts_with(text_of(entries[open.back()]))) {
      open.pop_back();
    }
    if (!open.empty()) {
      entry.parent = open.back() + 1;
      entry.rights |= entries[open.back()].rights;
    }
    open.push_back(place);
  }
}

NameBytes bytes_of_name(std::string_view name) {
  return {name.data(), static_cast<std::uint32_t>(name.size())};
}

}  // namespace

RightsOf::RightsOf(const std::vector<Grant>& grants, std::uint64_t epoch) : epoch_(epoch) {
  MaskByText prefixes;
  MaskByText names;
  for (const Grant& grant : grants) {
    any_ |= grant.rights;
    if (grant.prefix.empty()) {
      everywhere_ |= grant.rights;
    } else {
      (grant.exact ? names : prefixes)[grant.prefix] |= grant.rights;
    }
  }
  prefixes_.entries = entries_of(prefixes, text_);
  link(prefixes_.entries, text_);
  names_.entries = entries_of(names, text_);
}

RightMask RightsOf::rights_on(std::string_view name) const {
  const NameBytes bytes = bytes_of_name(name);
  return everywhere_ | rights_by_prefix(prefixes_.view(text_), bytes) |
         rights_by_name(names_.view(text_), bytes);
}

bool RightsOf::allows(Right right, std::string_view name) const {
  const RightMask bit = bit_of(right);
  // Most principals have most rights nowhere or everywhere.
  if ((any_ & bit) == 0 || (everywhere_ & bit) != 0) {
    return (everywhere_ & bit) != 0;
  }
  return (rights_on(name) & bit) != 0;
}

bool RightsOf::allows_all_below(Right right, std::string_view prefix) const {
  const RightMask rights =
      everywhere_ | rights_by_prefix(prefixes_.view(text_), bytes_of_name(prefix));
  return (rights & bit_of(right)) != 0;
}

std::shared_ptr<const RightsOf> rights_of(const AccessTable& table, std::string_view user) {
  const auto found = table.users.find(user);
  if (found == table.users.end() || found->second.disabled) {
    return std::make_shared<const RightsOf>(std::vector<Grant>{}, table.epoch);
  }
  return rights_of_roles(table, found->second.roles);
}

std::shared_ptr<const RightsOf> rights_of_roles(const AccessTable& table,
                                                const std::vector<std::string>& roles) {
  std::vector<Grant> grants;
  for (const std::string_view name : closure_of(table, roles)) {
    if (name == kRootRole) {
      grants.push_back({.prefix = {}, .exact = false, .rights = kAllRights});
      continue;
    }
    const auto role = table.roles.find(name);
    GCOORD_ASSERT(role != table.roles.end());
    grants.insert(grants.end(), role->second.grants.begin(), role->second.grants.end());
  }
  return std::make_shared<const RightsOf>(grants, table.epoch);
}

std::shared_ptr<const RightsOf> all_rights() {
  static const auto all = std::make_shared<const RightsOf>(
      std::vector<Grant>{{.prefix = {}, .exact = false, .rights = kAllRights}}, 0);
  return all;
}

}  // namespace gcoord::security
