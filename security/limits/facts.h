// Facts of a command of limits, for readers of the ledger. Pure; any thread.
#pragma once

#include "security/limits/command.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::security {

// "limit_set" and the like; "principal", "prefix" and so on.
std::string_view limit_kind_name(LimitKind kind);
std::string_view limit_scope_name(LimitScope scope);
std::string_view denial_scope_name(DenialScope scope);

// The bounds of an order to prune.
std::vector<std::pair<std::string, std::string>> prune_facts(const PruneBounds& bounds);

// For the ledger's audit: "kind" first, integers decimal.
std::vector<std::pair<std::string, std::string>> limit_command_facts(const LimitCommand& command);

}  // namespace gcoord::security
