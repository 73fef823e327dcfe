#include "server/watch/watch_outlet.h"

#include "server/interfaces/replies.h"
#include "server/watch/judging.h"

#include <algorithm>

namespace gcoord::server {

void WatchOutlet::send(Watch& watch, std::span<const std::byte> payload) {
  if (options_.judge == nullptr) {
    return push(watch, payload);
  }
  const WatchVerdict& verdict = judged(watch, *options_.judge);
  if (!verdict.allowed) {
    return;  // It is about to end.
  }
  if (verdict.whole) {
    return push(watch, payload);
  }
  const std::vector<std::byte> shown = options_.judge->mask(watch.connection, payload);
  if (!shown.empty()) {
    push(watch, shown);
  }
}

void WatchOutlet::push(const Watch& watch, std::span<const std::byte> payload) {
  metrics_.messages->add();
  metrics_.bytes->add(payload.size());
  replies_.push(watch.connection, protocol::reply_to(watch.request), payload);
}

void WatchOutlet::refuse(protocol::ConnectionId connection,
                         const protocol::RequestSlot& request,
                         protocol::ErrorCode error) {
  replies_.reply(connection, error_reply(request, error), {});
}

bool WatchOutlet::gone(const Watch& watch) const {
  return !replies_.backlog_bytes(watch.connection).has_value();
}

bool WatchOutlet::jammed(const Watch& watch, std::size_t connections) const {
  const std::size_t part = options_.backlog_bytes_max / std::max<std::size_t>(connections, 1);
  const std::size_t limit = std::clamp(part, options_.backlog_each_min, options_.backlog_each_max);
  return replies_.backlog_bytes(watch.connection).value_or(0) >= limit;
}

}  // namespace gcoord::server
