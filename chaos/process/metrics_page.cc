#include "chaos/process/metrics_page.h"

#include "common/http/client.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace gcoord::chaos {

Result<std::string> read_metrics_page(std::uint16_t metrics_port) {
  HttpClient http({"127.0.0.1", std::to_string(metrics_port)});
  GCOORD_TRY(
      auto page,
      http.get("/metrics", {.timeout = std::chrono::seconds{10}, .body_bytes_max = 16u << 20}));
  if (page.status != 200) {
    return Status{StatusCode::Unavailable,
                  "the metrics page answers " + std::to_string(page.status)};
  }
  return std::move(page.body);
}

std::uint64_t sum_of_samples(std::string_view page, std::string_view beginning) {
  double sum = 0;
  while (!page.empty()) {
    const std::string line{page.substr(0, page.find('\n'))};
    page.remove_prefix(std::min(page.size(), line.size() + 1));
    const std::size_t space = line.rfind(' ');
    if (line.starts_with(beginning) && space != std::string::npos) {
      sum += std::strtod(line.c_str() + space, nullptr);
    }
  }
  return static_cast<std::uint64_t>(sum);
}

}  // namespace gcoord::chaos
