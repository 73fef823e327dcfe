// The device that a benchmark is told to run on, by name.
#pragma once

#include "common/status.h"

#include <charconv>
#include <string>
#include <string_view>

namespace gcoord::bench {

// The number behind "cuda:"; InvalidArgument for any other name.
inline Result<int> device_number(const std::string& name) {
  constexpr std::string_view kPrefix = "cuda:";
  int number = -1;
  if (name.starts_with(kPrefix)) {
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, number);
    number = parsed.ec == std::errc{} && parsed.ptr == end ? number : -1;
  }
  if (number < 0) {
    return Status{StatusCode::InvalidArgument, "\"" + name + "\" is no device: say cpu, or cuda:0"};
  }
  return number;
}

}  // namespace gcoord::bench
