#include "bench/report/busy_share.h"

#include "common/host/core_time.h"

#include <thread>

namespace gcoord::bench {

double busy_share_over(std::chrono::milliseconds length) {
  const CoreTime before = read_core_time();
  std::this_thread::sleep_for(length);
  return busy_share(before, read_core_time());
}

}  // namespace gcoord::bench
