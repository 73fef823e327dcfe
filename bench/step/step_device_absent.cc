#include "bench/step/step_device.h"

namespace gcoord::bench {

BenchResult bench_step_on_device(const BenchOptions& /*options*/, int /*device*/) {
  return Status{StatusCode::Unavailable,
                "this build has no device code; configure with --preset cuda"};
}

}  // namespace gcoord::bench
