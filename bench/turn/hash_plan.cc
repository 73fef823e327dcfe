#include "bench/turn/hash_plan.h"

#include <charconv>
#include <sstream>
#include <string_view>

namespace gcoord::bench {
namespace {

// Whether all of the text is a number within the limits.
bool read_number(std::string_view text,
                 std::uint32_t least,
                 std::uint32_t most,
                 std::uint32_t& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc{} && end == text.data() + text.size() && value >= least && value <= most;
}

}  // namespace

Result<std::vector<HashPlan>> parse_hash_plans(const std::string& text) {
  std::vector<HashPlan> plans;
  std::istringstream names{text};
  for (std::string name; std::getline(names, name, ',');) {
    const std::string_view whole{name};
    const std::size_t colon = whole.find(':');
    HashPlan plan;
    const bool read = read_number(whole.substr(0, colon), 5, 8, plan.stripes) &&
                      (colon == std::string_view::npos ||
                       read_number(whole.substr(colon + 1), 10, 100, plan.percent));
    if (!read || (plan.stripes == 8 && plan.percent == 100)) {
      return Status{StatusCode::InvalidArgument,
                    "'" + name + "' is no plan: 5 to 8 stripes, and percent like 8:68"};
    }
    plans.push_back(plan);
  }
  if (plans.empty()) {
    return Status{StatusCode::InvalidArgument, "name a plan, like 7 or 8:68"};
  }
  return plans;
}

}  // namespace gcoord::bench
