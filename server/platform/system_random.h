// Numbers that nobody can guess and that no two nodes share: from the operating system.
#pragma once

#include <cstdint>

namespace gcoord::server {

// Blocks for as long as the system needs; any thread.
std::uint64_t draw_random();

}  // namespace gcoord::server
