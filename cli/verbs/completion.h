// gcoordctl __complete WORD...: what may follow, for the scripts of gcoordctl completion.
#pragma once

#include "cli/terminal/command.h"

#include <span>
#include <string>

namespace gcoord::cli {

// Prints a candidate a line; asks the cluster for names, for at most a second, where they
// belong. `words` is an unfinished line without the program's name. The exit code, which is 0.
int complete(const Command& program, std::span<const std::string> words);

}  // namespace gcoord::cli
