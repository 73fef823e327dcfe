// Path of the running program, used to find the programs that were built beside it.
#pragma once

#include <filesystem>
#include <string_view>

namespace gcoord::chaos {

// The path of this program; empty when the system does not say.
std::filesystem::path own_path();

// The program of this name in the same folder.
std::filesystem::path program_beside(std::string_view name);

}  // namespace gcoord::chaos
