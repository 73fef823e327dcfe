#include "common/text/utc_text.h"

#include <array>
#include <ctime>

namespace gcoord {

std::string utc_text(std::uint64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  std::array<char, 32> text{};
  if (::gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
    return std::to_string(unix_ms) + " ms";
  }
  return text.data();
}

}  // namespace gcoord
