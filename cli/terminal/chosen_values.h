// The values of gcoordctl's global options, from the command line, the environment and the user's
// contexts (cli/contexts). One thread.
#pragma once

#include "cli/contexts/contexts.h"
#include "cli/terminal/command_line.h"
#include "common/status.h"

#include <filesystem>

namespace gcoord::cli {

// The file of this user's contexts; empty where there is no place for one.
std::filesystem::path own_contexts_path();

// "GCOORD_PASSWORD_FILE" of "password-file": the variable of an option.
std::string variable_name(const std::string& option);

// The options of a context that stand on the command line, after it was parsed.
ContextValues typed_values(const Command& program, const ContextValues& parsed);

// `parsed` has the values that the parser found, by option, "context" too. Failures are those of
// read_contexts() and choose_values().
Result<ChosenValues> choose_own_values(const Command& program, const ContextValues& parsed);

// The same, where `typed` is what stands on the command line.
Result<ChosenValues> choose_own_values(ContextValues typed);

}  // namespace gcoord::cli
