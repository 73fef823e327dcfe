// Where the sources of this build lie, for tests that read files beside them. In one object, so
// that no other depends on where a clone stands: every clone on a machine then finds what another
// has compiled in the compiler's cache.
#pragma once

#include <string>

namespace gcoord {

// `file` is relative to the root of the repository. Callable before main.
std::string in_sources(const char* file);

}  // namespace gcoord
