#include "bench/load/load_report.h"

#include "bench/report/results_file.h"

#include <cstdio>
#include <string>

namespace gcoord::bench {

Result<Json> report_load(const LoadResult& result, std::string_view who, std::uint32_t clients) {
  const std::string name{who};
  if (result.errors > 0 || result.pairs == 0) {
    return Status{StatusCode::Aborted,
                  name + " answered " + std::to_string(result.errors) +
                      " requests with an error: " + result.first_error};
  }
  std::fprintf(stderr,
               "  %-7s %4u clients: %9.0f pairs/s, pair p50 %.3f ms, p99 %.3f ms\n",
               name.c_str(),
               clients,
               result.pairs_per_second(),
               result.pair.at_ms(0.5),
               result.pair.at_ms(0.99));
  return Json{{"pairs_per_s", rounded(result.pairs_per_second())},
              {"pair_p50_ms", rounded(result.pair.at_ms(0.5))},
              {"pair_p99_ms", rounded(result.pair.at_ms(0.99))},
              {"lock_p50_ms", rounded(result.lock.at_ms(0.5))},
              {"lock_p99_ms", rounded(result.lock.at_ms(0.99))},
              {"errors", result.errors}};
}

}  // namespace gcoord::bench
