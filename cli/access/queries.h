// gcoordctl user, role and auth: verbs that only read. One thread.
#pragma once

#include "cli/terminal/output.h"
#include "gcoord/access.h"

#include <cstdint>
#include <string>

namespace gcoord::cli {

class Context;

struct AccessListFlags {
  std::string name;   // get: of this one.
  std::string after;  // list: with greater names.
  std::uint32_t limit = 1000;
};

// {"epoch": "4", "enabled": false, "users": 2, "roles": 1, "recoveries": "0"}.
Json state_json(const client::AccessReport& report);

int show_user(Context& context, const AccessListFlags& flags);
int list_users(Context& context, const AccessListFlags& flags);
int show_role(Context& context, const AccessListFlags& flags);
int list_roles(Context& context, const AccessListFlags& flags);
int show_auth_status(Context& context);
int list_rights(Context& context);

}  // namespace gcoord::cli
