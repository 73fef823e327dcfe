// gcoordctl user, role and auth: verbs that change something. One thread.
#pragma once

#include "cli/terminal/change_flags.h"
#include "gcoord/access.h"

#include <string>
#include <vector>

namespace gcoord::cli {

class Context;

struct AccessFlags {
  client::AccessAction action = client::AccessAction::UserAdd;
  std::string name;                // Of the user or the role.
  std::vector<std::string> roles;  // Of a user; that a role includes.
  std::vector<std::string> rights;
  std::string prefix;
  std::string exact_name;  // --only; not together with a prefix.
  std::string password_file;
  bool no_password = false;
  ChangeFlags change;
};

// Makes the change, and prints the state that it made.
int change_access(Context& context, const AccessFlags& flags);

}  // namespace gcoord::cli
