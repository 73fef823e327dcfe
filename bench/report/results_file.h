// Files of raw results: bench/results/<name>-<date>.json, one object each, indented for review.
#pragma once

#include "common/json/value.h"
#include "common/status.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::bench {

// {"name", "machine"}: what every result begins with. Measures the disk of `directory`.
Json begin_result(std::string_view name, const std::filesystem::path& directory);

// Writes the file and returns its path. A second run on one day replaces the first.
Result<std::filesystem::path> keep_result(const std::filesystem::path& directory,
                                          std::string_view name,
                                          const Json& result);

// The same for a part of a benchmark: other parts that the file has stay.
Result<std::filesystem::path> keep_part(const std::filesystem::path& directory,
                                        std::string_view name,
                                        const Json& result);

// One line without its end, for other programs.
std::string result_line(const Json& result);

// Rounds for people: three digits behind the point.
double rounded(double value);

// The middle of the values, or the mean of the two middle ones; 0 when there are none.
double median(std::vector<double> values);

// The value that `share` of them, 0 to 1, do not exceed. Sorted; not empty.
std::uint32_t percentile(const std::vector<std::uint32_t>& sorted, double share);

// How many nanosecond samples there are, with their median, 99th percentile and greatest; null when
// there are none.
Json percentiles(std::vector<std::uint32_t> samples);

}  // namespace gcoord::bench
