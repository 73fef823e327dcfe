// The build of this program and its machine, as JSON for supporters. Thread-safe.
#pragma once

#include "common/json/value.h"

namespace gcoord::server {

// {"version", "compiler", "sanitized", "c_library", "kernel", "machine", "processors", "wall_ms"};
// the last is Unix milliseconds as digits, for whoever compares clocks.
Json build_json();

}  // namespace gcoord::server
