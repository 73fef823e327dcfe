// Assertions that stay on in every build, on host and device.
//
// GCOORD_ASSERT states what only a bug can break: arguments, results, invariants. It never looks at
// input that came from outside the process; such input is checked, dropped and counted. Split
// conditions: one fact per assertion. A failed assertion on the host prints the expression and
// place and aborts; on a device it traps. GCOORD_ASSERT_ALL states several facts that are asked
// together, by one branch: what a device runs often.
#pragma once

#include "common/hd.h"

namespace gcoord {

// Prints "gcoord: assertion failed: <expression> at <file>:<line>" to stderr and aborts. Host only.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

template <typename... Facts>
GCOORD_HD constexpr bool all_hold(Facts... facts) {
  return (facts & ...);
}

}  // namespace gcoord

#if defined(__CUDA_ARCH__)
#define GCOORD_ASSERT(condition) \
  do {                           \
    if (!(condition)) {          \
      __trap();                  \
    }                            \
  } while (false)
#else
#define GCOORD_ASSERT(condition)                                  \
  do {                                                            \
    if (!(condition)) [[unlikely]] {                              \
      ::gcoord::assertion_failed(#condition, __FILE__, __LINE__); \
    }                                                             \
  } while (false)
#endif

#define GCOORD_ASSERT_ALL(...) GCOORD_ASSERT(::gcoord::all_hold(__VA_ARGS__))
