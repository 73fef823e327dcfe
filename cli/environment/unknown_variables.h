// Variables of the environment that begin with GCOORD_ and mean nothing to a program: mostly names
// of options that were mistyped.
//
// What a variable says is never shown: it may be a secret. Variables that Kubernetes makes for a
// service of the name gcoord are left out. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {

// More are only counted: whoever sets the environment does not fill a log.
inline constexpr std::size_t kUnknownShownMax = 8;

// The variables that gcoordctl and the programs that it starts know.
std::span<const std::string_view> client_variables();

enum class Strictness {
  Near,  // Only names with at most two wrong letters: others may be another program's.
  All,
};

// A line for each, by name. `environment`: as environ(7) has it, ended by nullptr.
std::vector<std::string> unknown_variables(const char* const* environment,
                                           std::span<const std::string> known,
                                           Strictness strictness);

}  // namespace gcoord::cli
