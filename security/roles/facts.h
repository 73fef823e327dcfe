// Facts of a command of access control, for readers of the ledger. Pure; any thread.
#pragma once

#include "security/roles/command.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::security {

// "user_add" and the like.
std::string_view access_kind_name(AccessKind kind);

// For the ledger's audit: "kind" first, integers decimal. Never what a password is checked against.
std::vector<std::pair<std::string, std::string>> access_command_facts(const AccessCommand& command);

}  // namespace gcoord::security
