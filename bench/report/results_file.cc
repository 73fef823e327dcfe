#include "bench/report/results_file.h"

#include "bench/report/machine.h"
#include "common/json/text.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <sstream>

namespace gcoord::bench {

namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof(text), "%Y-%m-%d", &parts);
  return text;
}

std::filesystem::path path_of(const std::filesystem::path& directory, std::string_view name) {
  return directory / (std::string{name} + "-" + today() + ".json");
}

}  // namespace

Json begin_result(std::string_view name, const std::filesystem::path& directory) {
  return {{"name", name}, {"machine", describe_machine(directory)}};
}

Result<std::filesystem::path> keep_result(const std::filesystem::path& directory,
                                          std::string_view name,
                                          const Json& result) {
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  const auto path = path_of(directory, name);
  std::ofstream out{path};
  out << result.dump(2) << "\n";
  out.close();
  if (!out) {
    return Status{StatusCode::Unavailable, "cannot write " + path.string()};
  }
  return path;
}

Result<std::filesystem::path> keep_part(const std::filesystem::path& directory,
                                        std::string_view name,
                                        const Json& result) {
  std::ostringstream text;
  text << std::ifstream{path_of(directory, name)}.rdbuf();
  Json whole = parse_json(text.str());
  if (!whole.is_object()) {
    whole = Json::object();  // There is no file yet.
  }
  merge_members(whole, result);
  return keep_result(directory, name, whole);
}

std::string result_line(const Json& result) {
  return json_line(result);
}

double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::uint32_t percentile(const std::vector<std::uint32_t>& sorted, double share) {
  const auto at = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
  return sorted[at];
}

Json percentiles(std::vector<std::uint32_t> samples) {
  if (samples.empty()) {
    return nullptr;
  }
  std::sort(samples.begin(), samples.end());
  return {{"samples", samples.size()},
          {"p50_ns", percentile(samples, 0.50)},
          {"p99_ns", percentile(samples, 0.99)},
          {"max_ns", samples.back()}};
}

}  // namespace gcoord::bench
