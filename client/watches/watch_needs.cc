// What the watches of a client need of a node: nodes of an earlier release do less, and some nodes
// ask who the client is.
#include "client/watches/watch_feed.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {

// Whether a watch has followed a name out of its home, and goes on from there.
bool WatchFeed::is_away() const {
  return std::ranges::any_of(entries_, [](const auto& each) {
    const Entry& entry = each.second;
    const auto& places = entry.state->queued_to();
    return entry.state->of_name() && !entry.streams.empty() && !places.empty() &&
           !places.contains(entry.streams.front().shard_first);
  });
}

// Whether the node cannot do what a watch needs.
bool WatchFeed::lacks() const {
  return (!node_.follows && is_away()) ||
         (!node_.tells_previous && std::ranges::any_of(entries_, [](const auto& each) {
           return each.second.state->options().previous;
         }));
}

bool WatchFeed::seeks_another() {
  if (!lacks()) {
    nodes_.forget_lacking();
    return false;
  }
  return nodes_.seeks_another();
}

void WatchFeed::log_in() {
  auto proof = nodes_.login()->next(connection_->privacy());
  if (!proof.ok()) {
    return move_on(proof.status().message());
  }
  nodes_.shown().show(*connection_, std::move(proof).value());
  connection_->flush();
}

// Right behind the Hello, where the node before this one took logins. Never for the first one.
void WatchFeed::log_in_early() {
  if (nodes_.login() == nullptr || !node_.identifies) {
    return;
  }
  if (auto proof = nodes_.login()->early(connection_->privacy()); !proof.payload.empty()) {
    nodes_.shown().show(*connection_, std::move(proof));
  }
}

// In place: the node goes on with all watches.
void WatchFeed::renew_login(TimePoint now) {
  if (now < nodes_.shown().renew_at()) {
    return;
  }
  if (auto proof = nodes_.shown().renewal(*connection_, *nodes_.login(), now)) {
    nodes_.shown().renew(
        *connection_, std::move(*proof), now + TimePoint{options_.request_timeout});
  }
}

void WatchFeed::on_authenticated(const protocol::ReplySlot& slot,
                                 std::span<const std::byte> payload) {
  if (nodes_.login() == nullptr) {
    return move_on("answered a login that nobody made");
  }
  const ConnectionLogin::Answer answer{slot, payload, options_.clock->now()};
  if (phase_ == Phase::Ready) {
    return nodes_.shown().take_renewal(answer, *nodes_.login());
  }
  const Login::Outcome outcome = nodes_.shown().take(answer, *nodes_.login());
  if (outcome.again) {
    return log_in();
  }
  if (!outcome.status.ok()) {
    return move_on(outcome.status.message());
  }
  begin();
}

// The node takes watches from now on.
void WatchFeed::begin() {
  phase_ = Phase::Ready;
  pace_.ready_at = options_.clock->now();
  for (auto& [number, entry] : entries_) {
    open(entry);
  }
  connection_->flush();
}

}  // namespace gcoord::client
