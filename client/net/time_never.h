// The moment of what has no moment. Plain value; no thread rules.
#pragma once

#include "gcoord/clock.h"

namespace gcoord::client {

inline constexpr TimePoint kTimeNever = TimePoint::max();

}  // namespace gcoord::client
