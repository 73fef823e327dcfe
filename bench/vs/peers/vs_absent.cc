// In place of vs.cc where the client libraries of the peers were not asked for.
#include "bench/vs/peers/vs.h"

namespace gcoord::bench {

BenchResult bench_vs(const BenchOptions&) {
  return Status{StatusCode::FailedPrecondition,
                "this gcoord-bench was built without the client libraries of its peers; `./gcoord "
                "bench vs` installs them and builds it with them"};
}

}  // namespace gcoord::bench
