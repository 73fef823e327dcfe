#include "client/nodes/node_entry.h"

#include "client/net/host_port.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {
namespace {

// Of one node, besides the one in use: as many as a node has moved to while the client lives, and
// no more, because a node that lies can name any number.
constexpr std::size_t kOtherAddressesMax = 3;

}  // namespace

void NodeEntry::add_address(const std::string& other) {
  if (is_local(address) || address == other || std::ranges::find(others, other) != others.end()) {
    return;
  }
  if (others.size() == kOtherAddressesMax) {
    others.erase(others.begin());
  }
  others.push_back(other);
  newest_untried = true;
  if (phase == Phase::Waiting) {
    change_address();
  }
}

void NodeEntry::change_address() {
  if (std::exchange(newest_untried, false)) {
    std::swap(address, others.back());
    breaker = CircuitBreaker{breaker_options};
    failed = false;
  } else if (!others.empty()) {
    others.push_back(std::exchange(address, others.front()));
    others.erase(others.begin());
  }
}

void NodeEntry::let_go(TimePoint until) {
  give_up_at = until;
  if (phase == Phase::Ready) {
    return;
  }
  phase = Phase::Left;
  if (connection != nullptr) {
    connection->abandon();
  }
}

std::string NodeEntry::why_not_ready() const {
  if (!failure.evidence.empty()) {
    return failure.evidence;
  }
  if (phase == Phase::Connecting && welcome != nullptr && login.sent()) {
    return "it has not answered the login yet";
  }
  return is_unanswered() ? "it takes connections and does not answer" + std::string{kWhichPort}
                         : "no answer yet";
}

}  // namespace gcoord::client
