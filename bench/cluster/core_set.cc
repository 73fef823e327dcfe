#include "bench/cluster/core_set.h"

#include <cstdlib>
#include <sstream>
#include <utility>

namespace gcoord::bench {

namespace {

// "3" or "3-5" into the set; whether it was one of the two.
bool add_range(const std::string& text, cpu_set_t& cores) {
  char* end = nullptr;
  const unsigned long first = std::strtoul(text.c_str(), &end, 10);
  bool sane = end != text.c_str();
  unsigned long last = first;
  if (sane && *end == '-') {
    const char* second = end + 1;
    last = std::strtoul(second, &end, 10);
    sane = end != second;
  }
  if (!sane || *end != '\0' || first > last || last >= CPU_SETSIZE) {
    return false;
  }
  for (unsigned long core = first; core <= last; ++core) {
    CPU_SET(core, &cores);
  }
  return true;
}

}  // namespace

Result<OnCores> OnCores::of(const std::string& list) {
  if (list.empty()) {
    return OnCores{std::nullopt};
  }
  cpu_set_t cores;
  CPU_ZERO(&cores);
  std::istringstream parts{list};
  for (std::string part; std::getline(parts, part, ',');) {
    if (!add_range(part, cores)) {
      return Status{StatusCode::InvalidArgument, "no list of cores: " + list};
    }
  }
  cpu_set_t before;
  if (::sched_getaffinity(0, sizeof(before), &before) != 0 ||
      ::sched_setaffinity(0, sizeof(cores), &cores) != 0) {
    return Status{StatusCode::InvalidArgument, "cannot run on the cores " + list};
  }
  return OnCores{before};
}

OnCores::OnCores(OnCores&& other) noexcept : before_(std::exchange(other.before_, std::nullopt)) {}

OnCores::~OnCores() {
  if (before_) {
    ::sched_setaffinity(0, sizeof(*before_), &*before_);
  }
}

}  // namespace gcoord::bench
