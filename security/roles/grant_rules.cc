#include "security/roles/grant_rules.h"

#include "common/text/printable.h"

#include <algorithm>
#include <tuple>

namespace gcoord::security {

namespace {

bool is_name(std::string_view name, std::size_t bytes_max) {
  return !name.empty() && name.size() <= bytes_max && name.front() != ' ' && name.back() != ' ' &&
         is_printable(name);
}

auto scope_of(const Grant& grant) {
  return std::tie(grant.prefix, grant.exact);
}

}  // namespace

bool is_user_name(std::string_view name) {
  return is_name(name, kUserNameBytesMax);
}

bool is_role_name(std::string_view name) {
  return is_name(name, kRoleNameBytesMax);
}

bool is_grant(const Grant& grant) {
  const bool known = grant.rights != 0 && (grant.rights & ~kAllRights) == 0;
  const bool scoped = !grant.prefix.empty();
  const bool over_names = !scoped || named_rights(grant.rights) == grant.rights;
  return known && over_names && (scoped || !grant.exact) &&
         grant.prefix.size() <= kGrantPrefixBytesMax && is_printable(grant.prefix);
}

bool grant_precedes(const Grant& a, const Grant& b) {
  return scope_of(a) < scope_of(b);
}

void add_grant(std::vector<Grant>& grants, const Grant& grant) {
  const auto place = std::ranges::lower_bound(grants, grant, grant_precedes);
  if (place != grants.end() && scope_of(*place) == scope_of(grant)) {
    place->rights |= grant.rights;
  } else {
    grants.insert(place, grant);
  }
}

bool take_grant(std::vector<Grant>& grants, const Grant& grant) {
  const auto place = std::ranges::lower_bound(grants, grant, grant_precedes);
  if (place == grants.end() || scope_of(*place) != scope_of(grant) ||
      (place->rights & grant.rights) == 0) {
    return false;
  }
  place->rights &= ~grant.rights;
  if (place->rights == 0) {
    grants.erase(place);
  }
  return true;
}

std::optional<std::vector<Grant>> grants_of(const GrantWords& words, std::string& error) {
  RightMask by_name = 0;
  RightMask by_alias = 0;
  // "admin" on a prefix is everything that can be done to its names, and nothing to the cluster.
  RightMask of_cluster = 0;
  for (const std::string& word : words.words) {
    const auto aliases = right_aliases();
    const auto alias = std::ranges::find(aliases, word, &RightAlias::name);
    const auto right = parse_right(word);
    if (alias != aliases.end()) {
      by_alias |= alias->rights;
      of_cluster |= alias->rights == kAllRights ? 0 : alias->rights & ~named_rights(alias->rights);
    } else if (right) {
      by_name |= bit_of(*right);
    } else {
      error = "'" + shown(word) + "' is no right";
      return std::nullopt;
    }
  }
  const bool scoped = !words.prefix.empty();
  if (const RightMask unnamed = by_name & ~named_rights(by_name); scoped && unnamed != 0) {
    error = rights_text(unnamed) + " is of the cluster, not over names: grant it without a prefix";
    return std::nullopt;
  }
  const RightMask rights = by_name | by_alias;
  const RightMask scoped_rights = scoped ? named_rights(rights) : rights;
  std::vector<Grant> grants;
  if (scoped && of_cluster != 0 && !words.revokes) {
    add_grant(grants, {.prefix = {}, .exact = false, .rights = of_cluster});
  }
  if (scoped_rights != 0) {
    add_grant(grants, {.prefix = words.prefix, .exact = words.exact, .rights = scoped_rights});
  }
  if (!std::ranges::all_of(grants, is_grant) || grants.empty()) {
    error = grants.empty() ? "no right is named" : "the prefix is too long, or not printable";
    return std::nullopt;
  }
  return grants;
}

std::string scope_text(const Grant& grant) {
  return grant.exact ? grant.prefix : grant.prefix + "*";
}

std::string grants_text(const std::vector<Grant>& grants) {
  std::string text;
  for (const Grant& grant : grants) {
    text += (text.empty() ? "" : "; ") + scope_text(grant) + " " + rights_text(grant.rights);
  }
  return text;
}

}  // namespace gcoord::security
