// The effect of one command on the table of users and roles.
//
// Deterministic: it looks at the table and the command only. A command that is refused changes
// nothing; one that is taken raises the epoch by one. What must never be is refused here whoever
// asks: roles that include themselves, a table beyond its bounds, and, while rights are checked, a
// cluster in which nobody could change that any more. Pure; thread-safe.
#pragma once

#include "security/roles/command.h"
#include "security/roles/role_table.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace gcoord::security {

enum class AccessCode : std::uint8_t {
  Applied,
  Malformed,  // No command that this release knows.
  Stale,      // The table has another epoch.
  UserUnknown,
  UserExists,
  RoleUnknown,  // The role of the command, or one that it names.
  RoleExists,
  RoleReserved,     // `root` cannot be made, changed or deleted.
  NameInvalid,      // No name of a user or role.
  GrantInvalid,     // No right that this release knows, or not on such a prefix.
  NothingToRevoke,  // Nobody has what is to be taken away.
  IncludeLoop,      // The role would include itself.
  IncludeTooDeep,   // More than kIncludeDepthMax roles one within the other.
  TooManyUsers,
  TooManyRoles,     // Of the cluster, of the user, or included.
  TooManyGrants,    // Of one role.
  TableFull,        // More than kTableBytesMax.
  VerifierInvalid,  // No verifier, or too long.
  StateWrong,       // It is so already.
  NoAdmin,          // Nobody has auth.admin, so rights cannot be switched on.
  LastAdmin,        // Nobody would have it any more.
};

AccessCode apply(AccessTable& table, const AccessCommand& command);

// The roles, one within the other, of the deepest; nothing if one includes itself.
std::optional<std::size_t> include_depth(const AccessTable& table);

}  // namespace gcoord::security
