#include "server/watch/watch_register.h"

namespace gcoord::server {

Watch& WatchRegister::add(std::unique_ptr<Watch> watch) {
  Watch& opened = *watch;
  numbers_[place_of(opened)] = opened.number;
  if (opened.progress_ms != 0) {
    timed_.emplace(opened.progress_at_ms, opened.number);
  }
  watches_.emplace(opened.number, std::move(watch));
  ++connections_[opened.connection.value];
  return opened;
}

void WatchRegister::erase(const Watch& watch) {
  timed_.erase({watch.progress_at_ms, watch.number});
  numbers_.erase(place_of(watch));
  const auto connection = connections_.find(watch.connection.value);
  --connection->second;
  if (connection->second == 0) {
    connections_.erase(connection);
  }
  watches_.erase(watch.number);
}

Watch* WatchRegister::find(protocol::ConnectionId connection, std::uint64_t request_id) const {
  const auto found = numbers_.find({connection.value, request_id});
  return found == numbers_.end() ? nullptr : watches_.at(found->second).get();
}

Watch* WatchRegister::first_of(protocol::ConnectionId connection) const {
  const auto at = numbers_.lower_bound({connection.value, 0});
  const bool its = at != numbers_.end() && at->first.first == connection.value;
  return its ? watches_.at(at->second).get() : nullptr;
}

Watch* WatchRegister::numbered(std::uint64_t number) const {
  const auto found = watches_.find(number);
  return found == watches_.end() ? nullptr : found->second.get();
}

Watch* WatchRegister::take_due(std::uint64_t now_ms) {
  if (!is_due(now_ms)) {
    return nullptr;
  }
  const std::uint64_t number = timed_.begin()->second;
  timed_.erase(timed_.begin());
  Watch& watch = *watches_.at(number);
  watch.progress_at_ms = now_ms + watch.progress_ms;
  timed_.emplace(watch.progress_at_ms, number);
  return &watch;
}

Watch* WatchRegister::behind(const Place& place) const {
  const auto next = numbers_.upper_bound(place);
  return next == numbers_.end() ? nullptr : watches_.at(next->second).get();
}

protocol::ConnectionId WatchRegister::connection_behind(protocol::ConnectionId connection) const {
  const auto next = numbers_.upper_bound({connection.value, ~std::uint64_t{0}});
  return protocol::ConnectionId{next == numbers_.end() ? 0 : next->first.first};
}

}  // namespace gcoord::server
