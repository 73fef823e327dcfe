// Rules for the names of users and roles and for grants, and grants made of an operator's words.
//
// Pure; any thread.
#pragma once

#include "security/roles/role_table.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::security {

// 1 to kUserNameBytesMax bytes of printable UTF-8 without a space at an end. All such names may be
// a user's.
bool is_user_name(std::string_view name);

// The same with kRoleNameBytesMax; `root` is one.
bool is_role_name(std::string_view name);

// Some right of this release, a printable prefix that is not too long, and no right that is not
// over names on a prefix of them.
bool is_grant(const Grant& grant);

// The order of a role's grants.
bool grant_precedes(const Grant& a, const Grant& b);

// Adds to what the role grants; takes away from it. False: there was nothing to take away.
void add_grant(std::vector<Grant>& grants, const Grant& grant);
bool take_grant(std::vector<Grant>& grants, const Grant& grant);

struct GrantWords {
  std::vector<std::string> words;  // Names of rights and of aliases.
  std::string prefix;
  bool exact = false;
  // To be taken away: of an alias on a prefix only what is over names, since the rest may have come
  // with another prefix.
  bool revokes = false;
};

// What the words mean on the prefix. Rights of an alias that are not over names are granted for
// the cluster, since there is no other way to grant them; one that is named by itself is refused on
// a prefix. Nothing, and `error` says which word is wrong.
std::optional<std::vector<Grant>> grants_of(const GrantWords& words, std::string& error);

// "jobs/*", or "jobs/a" for that name alone, or "*" for all names; and "jobs/* lock.read; ...".
std::string scope_text(const Grant& grant);
std::string grants_text(const std::vector<Grant>& grants);

}  // namespace gcoord::security
