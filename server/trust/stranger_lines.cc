#include "server/trust/stranger_lines.h"

#include "server/platform/operator_log.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::server {

std::optional<std::string> StrangerLines::line_of(const netcore::DroppedStranger& dropped) {
  LogRateLimit& limit = limits_.at(static_cast<std::size_t>(dropped.reason));
  if (!limit.may_log(dropped.now_ms)) {
    return std::nullopt;
  }
  const std::uint64_t unsaid = limit.take_unsaid();
  return "peer port: " + std::string{dropped.address} + " was turned away (" +
         std::string{netcore::drop_reason_name(dropped.reason)} + "): " + dropped.text +
         (unsaid == 0 ? "" : "; so it was " + std::to_string(unsaid) + " more times");
}

void StrangerLines::on_dropped(const netcore::DroppedStranger& dropped) {
  if (const auto line = line_of(dropped)) {
    log_warning(LogComponent::Peers, "{}", *line);
  }
}

}  // namespace gcoord::server
