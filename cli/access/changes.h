// gcoordctl user, role and auth: verbs that change something. One thread.
#pragma once

#include "gcoord/access.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::cli {

class Context;

// Flags of all changes.
struct AccessFlags {
  client::AccessAction action = client::AccessAction::UserAdd;
  std::string name;                // Of the user or the role.
  std::vector<std::string> roles;  // Of a user; that a role includes.
  std::vector<std::string> rights;
  std::string prefix;
  std::string exact_name;  // --only; not together with a prefix.
  std::string password_file;
  bool no_password = false;
  std::uint64_t epoch = 0;  // Change that one only; 0: whichever is the newest.
  bool dry_run = false;
  std::string who;
};

// Makes the change, and prints the state that it made.
int change_access(Context& context, const AccessFlags& flags);

}  // namespace gcoord::cli
