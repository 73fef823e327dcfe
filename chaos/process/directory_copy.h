// A copy of a node's data directory, as an operator makes one.
#pragma once

#include <filesystem>
#include <system_error>

namespace gcoord::chaos {

// Copies a directory of files and directories into a new one, but for sockets, which a node that is
// killed leaves. Not thread-safe where others write there.
std::error_code copy_directory(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace gcoord::chaos
