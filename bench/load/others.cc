#include "bench/load/others.h"

#include "bench/load/gcoord_target.h"
#include "bench/load/load_report.h"

#include <algorithm>

namespace gcoord::bench {

Result<Json> run_others(const std::vector<std::string>& endpoints,
                        std::chrono::milliseconds length,
                        const char* when) {
  GcoordOptions target;
  target.endpoints = endpoints;
  target.clients = kOthers;
  target.name_prefix = when;
  LoadOptions load;
  load.clients = kOthers;
  load.warm_up = std::chrono::milliseconds{200};
  load.measured = length;
  GCOORD_TRY(const LoadResult result, run_gcoord(target, load));
  return report_load(result, when, kOthers);
}

double others_ratio(const Json& before, const Json& during) {
  return number_of(during["pair_p99_ms"]).value() /
         std::max(0.001, number_of(before["pair_p99_ms"]).value());
}

}  // namespace gcoord::bench
