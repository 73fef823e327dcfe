#include "cli/bench/report/histogram_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace gcoord::cli {

namespace {

double ms(double ns) {
  return ns / 1e6;
}

std::string line(double value_ms, double share, std::uint64_t count) {
  std::string text = fmt::format("{:12.3f} {:2.12f} {:10}", value_ms, share, count);
  return share < 1 ? text + fmt::format(" {:14.2f}\n", 1 / (1 - share)) : text + "\n";
}

}  // namespace

std::string histogram_text(const Histogram& histogram) {
  std::string text = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
  std::uint64_t seen = 0;
  const auto max = static_cast<double>(histogram.max().count());
  for (const Histogram::Step& step : histogram.steps()) {
    seen += step.count;
    const double share = static_cast<double>(seen) / static_cast<double>(histogram.count());
    text += line(ms(std::min(static_cast<double>(step.most.count()), max)), share, seen);
  }
  text += fmt::format("#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n",
                      ms(histogram.mean_ns()),
                      ms(histogram.deviation_ns()));
  text +=
      fmt::format("#[Max     = {:12.3f}, Total count    = {:12}]\n", ms(max), histogram.count());
  text += "#[Buckets =           32, SubBuckets     =         2048]\n";
  return text;
}

}  // namespace gcoord::cli
