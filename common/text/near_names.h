// The nearest of several names to one that was mistyped. Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace gcoord {

// Letters to change, add, remove or swap with a neighbour (Damerau; optimal string alignment).
// Takes time and memory by the product and the sum of the lengths: callers bound what comes from
// outside.
std::size_t letters_apart(std::string_view a, std::string_view b);

}  // namespace gcoord
