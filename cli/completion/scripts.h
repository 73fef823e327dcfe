// The scripts that let bash, zsh and fish ask gcoordctl what may follow.
//
// Each calls `gcoordctl __complete WORD...` and reads one candidate a line; ":files" and
// ":commands" say that the shell itself knows what belongs there. Constant; any thread.
#pragma once

#include <string>
#include <string_view>

namespace gcoord::cli {

// The hidden verb that they call.
inline constexpr std::string_view kCompleteVerb = "__complete";

// Lines that ask the shell for its own candidates.
inline constexpr std::string_view kFilesLine = ":files";
inline constexpr std::string_view kCommandsLine = ":commands";

// "bash", "zsh" or "fish".
std::string completion_script(std::string_view shell);

}  // namespace gcoord::cli
