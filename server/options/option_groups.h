// Groups of gcoordd's options in its --help and its manual page. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace gcoord::server {

// "Limits" of "locks-max". An option that no rule knows is in "Other options".
std::string option_group(std::string_view name);

}  // namespace gcoord::server
