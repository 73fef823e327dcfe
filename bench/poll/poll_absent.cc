#include "bench/poll/poll.h"

namespace gcoord::bench {

BenchResult bench_poll(const BenchOptions& /*options*/) {
  return Status{StatusCode::Unavailable,
                "this build has no CUDA; configure with the preset cuda to measure a GPU"};
}

}  // namespace gcoord::bench
