// The text of --user: NAME or NAME:PASSWORD, where a colon of the name is written "\:". Pure.
#pragma once

#include <string>
#include <string_view>

namespace gcoord::cli {

// The name as it was written, before the colon that ends it.
std::string_view written_name(std::string_view user);

// "ann:b" of "ann\:b".
std::string name_of_written(std::string_view written);

}  // namespace gcoord::cli
