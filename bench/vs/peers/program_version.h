// The version of a foreign program, as it says itself.
#pragma once

#include "common/status.h"

#include <string>
#include <string_view>
#include <vector>

namespace gcoord::bench {

// The word behind `mark` on the first line of the program's output, up to a blank or comma.
// NotFound when there is no such program, FailedPrecondition when it says nothing of the kind.
Result<std::string> program_version(const std::vector<std::string>& command, std::string_view mark);

// The same in a line of text; empty when the mark is not in it.
std::string word_behind(std::string_view line, std::string_view mark);

}  // namespace gcoord::bench
