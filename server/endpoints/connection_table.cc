#include "server/endpoints/connection_table.h"

#include "common/assert.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gcoord::server {

namespace {

protocol::ConnectionId make_id(std::size_t place, std::uint32_t generation) {
  return protocol::ConnectionId{std::uint64_t{generation} << 32 | (place + 1u)};
}

std::uint32_t place_of(protocol::ConnectionId id) {
  return static_cast<std::uint32_t>(id.value) - 1u;
}

bool is_quiet(const Connection& connection, std::uint64_t now_ms) {
  const Connection::Swept& swept = connection.swept;
  return !swept.active && connection.outstanding() == 0 &&
         now_ms - std::min(now_ms, swept.active_at) >= kGivesWayMs;
}

}  // namespace

protocol::ConnectionId ConnectionTable::reserve() {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(places_.size()));
    places_.emplace_back();
  }
  Place& place = places_[free_.back()];
  ++place.generation;
  return make_id(free_.back(), place.generation);
}

void ConnectionTable::put(protocol::ConnectionId id, std::shared_ptr<Connection> connection) {
  GCOORD_ASSERT(!free_.empty() && free_.back() == place_of(id));
  free_.pop_back();
  Place& place = places_[place_of(id)];
  place.connection = std::move(connection);
  place.arrival = ++arrivals_;
  ++count_;
}

Connection* ConnectionTable::find(protocol::ConnectionId id) const {
  const std::uint32_t place = place_of(id);
  if (place >= places_.size() || make_id(place, places_[place].generation) != id) {
    return nullptr;
  }
  return places_[place].connection.get();
}

std::shared_ptr<Connection> ConnectionTable::take(protocol::ConnectionId id) {
  GCOORD_ASSERT(find(id) != nullptr);
  free_.push_back(place_of(id));
  --count_;
  return std::move(places_[place_of(id)].connection);
}

std::vector<std::shared_ptr<Connection>> ConnectionTable::all() const {
  std::vector<std::shared_ptr<Connection>> connections;
  connections.reserve(count_);
  for (const Place& place : places_) {
    if (place.connection != nullptr) {
      connections.push_back(place.connection);
    }
  }
  return connections;
}

Connection* ConnectionTable::largest(HeldBytes kind, const Connection* of) const {
  Connection* found = nullptr;
  std::pair<std::size_t, std::size_t> most{0, 0};
  for (const Place& place : places_) {
    if (place.connection == nullptr) {
      continue;
    }
    const ConnectionAccount::Share& share = place.connection->share();
    const std::pair holds{share.source_held(kind), share.held(kind)};
    if (holds.second > 0 && holds > most && (of == nullptr || share.same_source(of->share()))) {
      most = holds;
      found = place.connection.get();
    }
  }
  return found;
}

bool ConnectionTable::is_known(const Connection& connection) const {
  return connection.welcomed() && (!proven_only_ || connection.identity.principal.kind !=
                                                        security::PrincipalKind::Anonymous);
}

Connection* ConnectionTable::gives_way(const ClientSource& newcomer,
                                       bool same_source,
                                       std::uint64_t now_ms) {
  // Connections of its source, not known before known, arrival: the smallest gives way.
  using Rank = std::tuple<std::size_t, bool, std::uint64_t>;
  std::size_t newcomers = 0;
  Connection* found = nullptr;
  Rank first{};
  const std::size_t looks = std::min(places_.size(), kGivesWayLooks);
  for (std::size_t look = 0; look < looks; ++look) {
    next_look_ = next_look_ + 1 < places_.size() ? next_look_ + 1 : 0;
    const Place& place = places_[next_look_];
    if (place.connection == nullptr || !place.connection->share().placed()) {
      continue;
    }
    const Connection& connection = *place.connection;
    if (connection.share().unsettled()) {
      continue;  // Its place is none that a newcomer gets.
    }
    const bool own = connection.share().of_source(newcomer);
    newcomers = own ? connection.share().source_connections() : newcomers;
    const bool known = is_known(connection);
    if ((same_source && !own) || (known && !is_quiet(connection, now_ms))) {
      continue;
    }
    const Rank rank{~connection.share().source_connections(),
                    known,
                    known ? connection.swept.active_at : place.arrival};
    if (found == nullptr || rank < first) {
      first = rank;
      found = place.connection.get();
    }
  }
  const bool fair = found == nullptr || found->share().of_source(newcomer) ||
                    found->share().source_connections() > newcomers;
  return fair ? found : nullptr;
}

Connection* ConnectionTable::unsettled_gives_way(const ClientSource& newcomer,
                                                 bool same_source,
                                                 std::uint64_t now_ms) const {
  const Place* found = nullptr;
  for (const Place& place : places_) {
    const Connection* const each = place.connection.get();
    if (each == nullptr || !each->share().unsettled() || each->outstanding() != 0 ||
        (same_source && !each->share().of_source(newcomer))) {
      continue;
    }
    const std::uint64_t since_ms = each->swept.unsettled_since;
    const bool long_enough = since_ms != 0 && now_ms >= since_ms + kUnsettledGivesWayMs;
    if (long_enough && (found == nullptr || place.arrival < found->arrival)) {
      found = &place;
    }
  }
  return found == nullptr ? nullptr : found->connection.get();
}

}  // namespace gcoord::server
