#include "server/rights/page_table.h"

#include <algorithm>
#include <iterator>

namespace gcoord::server {

namespace {

using enum security::Right;

// Whether a node lives is for whoever starts and stops it, and balancers have no tokens. A head is
// signed and tells how long a log is and nothing that stands in it; whoever watches for two heads
// of one log must be able to read it. The keys by which it is checked are public.
constexpr PageRow kPages[] = {
    {HttpPort::Metrics, "/livez", std::nullopt},
    {HttpPort::Metrics, "/readyz", std::nullopt},
    {HttpPort::Metrics, "/metrics", MetricsRead},
    {HttpPort::Metrics, "/debug/profile", ClusterAdmin},
    {HttpPort::Metrics, "/debug/*", ClusterRead},
    {HttpPort::Metrics, "*", MetricsRead},
    {HttpPort::Ledger, "/checkpoint", std::nullopt},
    {HttpPort::Ledger, "/shard/#/checkpoint", std::nullopt},
    {HttpPort::Ledger, "/key", std::nullopt},
    {HttpPort::Ledger, "*", LedgerRead},
};

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

bool matches(std::string_view pattern, std::string_view path) {
  while (!pattern.empty() && pattern.front() != '*') {
    if (pattern.front() == '#') {
      const auto end = std::ranges::find_if_not(path, is_digit);
      if (end == path.begin()) {
        return false;
      }
      path.remove_prefix(static_cast<std::size_t>(std::distance(path.begin(), end)));
    } else if (path.empty() || path.front() != pattern.front()) {
      return false;
    } else {
      path.remove_prefix(1);
    }
    pattern.remove_prefix(1);
  }
  return !pattern.empty() || path.empty();
}

}  // namespace

std::span<const PageRow> page_table() {
  return kPages;
}

std::optional<security::Right> page_right(HttpPort port, std::string_view path) {
  const auto* const row = std::ranges::find_if(
      kPages, [&](const PageRow& each) { return each.port == port && matches(each.path, path); });
  return row->right;  // The last row of each port matches all.
}

}  // namespace gcoord::server
