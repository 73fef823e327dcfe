// Rights from the first moment of a cluster: the table that counts until the log has one, and the
// changes that put it there.
//
// A cluster begins without users and with rights off. With a first admin (gcoordd --first-admin)
// its nodes decide, as long as nothing was changed, as though rights were checked and this user had
// the role root. Two changes make that true in the log: the user is added, and rights are switched
// on. In between the table has that user and nothing else, and the nodes go on as before. A table
// that anything else has changed is the operator's, and nothing here applies to it. Pure; any
// thread.
#pragma once

#include "security/roles/command.h"
#include "security/roles/role_table.h"

#include <array>
#include <optional>
#include <string>

namespace gcoord::security {

class FirstAdmin {
 public:
  // `name`: is_user_name() (grant_rules.h).
  explicit FirstAdmin(std::string name);

  // Whether the table is on its way: nothing was changed, or the user was added and nothing else.
  bool begins(const AccessTable& table) const;

  // The table by which nodes decide: rights are checked once begins().
  const AccessTable& effective(const AccessTable& table) const {
    return begins(table) ? tables_[table.epoch] : table;
  }

  // The next change; nothing once the table does not begin any more.
  std::optional<AccessCommand> next(const AccessTable& table) const;

  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::array<AccessTable, 2> tables_;  // By epoch.
};

}  // namespace gcoord::security
