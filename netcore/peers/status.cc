#include "netcore/peers/status.h"

namespace gcoord::netcore {

std::string_view link_state_name(LinkState state) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "idle", "dialing", "greeting", "up", "refused"};
  const auto index = static_cast<std::size_t>(state);
  return index < kNames.size() ? kNames[index] : std::string_view{"unknown"};
}

}  // namespace gcoord::netcore
