#include "bench/turn/hash_plan.h"

#include <charconv>
#include <sstream>

namespace gcoord::bench {

Result<std::vector<std::uint32_t>> parse_hash_plans(const std::string& text) {
  constexpr std::uint32_t kLeast = 10;
  constexpr std::uint32_t kMost = 95;
  std::vector<std::uint32_t> plans;
  std::istringstream names{text};
  for (std::string name; std::getline(names, name, ',');) {
    std::uint32_t percent = 0;
    const char* const past = name.data() + name.size();
    const auto [end, code] = std::from_chars(name.data(), past, percent);
    if (code != std::errc{} || end != past || percent < kLeast || percent > kMost) {
      return Status{StatusCode::InvalidArgument,
                    "'" + name + "' is no percentage of 10 to 95 that has turns"};
    }
    plans.push_back(percent);
  }
  if (plans.empty()) {
    return Status{StatusCode::InvalidArgument, "name a percentage, like 70"};
  }
  return plans;
}

}  // namespace gcoord::bench
