// Rights of one principal, compiled from the roles, and the decision what it may do.
//
// Compiled once per principal and epoch of the roles, and then asked for every request: a decision
// allocates nothing and takes some tens of nanoseconds. Immutable; any thread.
#pragma once

#include "security/roles/decision.h"
#include "security/roles/role_table.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::security {

class RightsOf {
 public:
  // No rights.
  RightsOf() = default;

  // Of these grants together, in any order.
  RightsOf(const std::vector<Grant>& grants, std::uint64_t epoch);

  RightsOf(const RightsOf&) = delete;
  RightsOf& operator=(const RightsOf&) = delete;

  // Whether the right is granted on the name. Of rights that are not over names the name does not
  // matter.
  bool allows(Right right, std::string_view name) const;

  // Whether the right is granted on every name that begins with the prefix, by one grant.
  bool allows_all_below(Right right, std::string_view prefix) const;

  // Whether the right is granted on any name at all.
  bool allows_any(Right right) const { return (any_ & bit_of(right)) != 0; }

  // Everything that is granted on the name.
  RightMask rights_on(std::string_view name) const;

  // What is granted on all names.
  RightMask everywhere() const { return everywhere_; }

  // Of the roles that it was compiled from.
  std::uint64_t epoch() const { return epoch_; }

 private:
  struct Entries {
    std::vector<GrantEntry> entries;

    GrantsView view(const std::string& text) const {
      return {entries.data(), text.data(), static_cast<std::uint32_t>(entries.size())};
    }
  };

  std::string text_;
  Entries prefixes_;
  Entries names_;
  RightMask everywhere_ = 0;
  RightMask any_ = 0;
  std::uint64_t epoch_ = 0;
};

// What the user may do; none for a name that no user has, and for one that is disabled. Never
// nullptr.
std::shared_ptr<const RightsOf> rights_of(const AccessTable& table, std::string_view user);

// What somebody with these roles may do.
std::shared_ptr<const RightsOf> rights_of_roles(const AccessTable& table,
                                                const std::vector<std::string>& roles);

// Everything.
std::shared_ptr<const RightsOf> all_rights();

}  // namespace gcoord::security
