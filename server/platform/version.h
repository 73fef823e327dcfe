// The version that programs print and nodes report.
#pragma once

#include <string_view>

namespace gcoord::server {

inline constexpr std::string_view kVersion = "0.1.0";  // As in CMakeLists.txt.

}  // namespace gcoord::server
