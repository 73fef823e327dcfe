#include "common/assert.h"

#include <cstdio>
#include <cstdlib>

namespace gcoord {

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "gcoord: assertion failed: %s at %s:%d\n", expression, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace gcoord
