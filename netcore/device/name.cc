#include "netcore/device/gpu_device.h"

#include <charconv>

namespace gcoord::netcore {

Result<std::uint32_t> parse_gpu_name(const std::string& text) {
  constexpr std::string_view kPrefix = "cuda:";
  std::uint32_t index = 0;
  if (text.starts_with(kPrefix)) {
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data() + kPrefix.size(), end, index);
    if (error == std::errc{} && stopped == end) {
      return index;
    }
  }
  return Status{StatusCode::InvalidArgument,
                "'" + text + "' is not a device; write cuda:N, for example cuda:0"};
}

}  // namespace gcoord::netcore
