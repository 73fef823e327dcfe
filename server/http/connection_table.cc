#include "server/http/connection_table.h"

#include "common/assert.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace gcoord::server {

HttpSource http_source(const sockaddr* address) {
  HttpSource source{};
  if (address != nullptr && address->sa_family == AF_INET) {
    sockaddr_in from{};
    std::memcpy(&from, address, sizeof from);
    source[10] = 0xff;
    source[11] = 0xff;
    std::memcpy(source.data() + 12, &from.sin_addr, 4);
  } else if (address != nullptr && address->sa_family == AF_INET6) {
    sockaddr_in6 from{};
    std::memcpy(&from, address, sizeof from);
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&from.sin6_addr);
    std::memcpy(source.data(), &from.sin6_addr, mapped ? 16 : 8);
  }
  return source;
}

HttpConnectionTable::Room HttpConnectionTable::make_room(const HttpSource& source) {
  const std::uint32_t own = count_of(source);
  const bool source_full = own >= limits_.connections_per_source;
  if (!source_full && counted_ < limits_.connections) {
    return {};
  }
  const std::optional<int> victim = longest_waiting(source_full ? &source : nullptr);
  if (!victim.has_value()) {
    return {.taken = own < limits_.connections_per_source + limits_.spare_connections &&
                     counted_ < limits_.connections + limits_.spare_connections};
  }
  cut(connections_.at(*victim));
  return {.cut = victim};
}

void HttpConnectionTable::open(int socket, const HttpSource& source, std::uint64_t now_ms) {
  const auto [opened, added] =
      connections_.try_emplace(socket, Connection{source, State::Header, now_ms});
  GCOORD_ASSERT(added);
  const std::uint32_t own = ++of_source_[source];
  ++counted_;
  opened->second.spare = own > limits_.connections_per_source || counted_ > limits_.connections;
}

bool HttpConnectionTable::within_limits(int socket) {
  const auto found = connections_.find(socket);
  if (found == connections_.end() || found->second.state == State::Cut) {
    return false;
  }
  Connection& connection = found->second;
  connection.spare =
      connection.spare && (count_of(connection.source) > limits_.connections_per_source ||
                           counted_ > limits_.connections);
  return !connection.spare;
}

std::uint32_t HttpConnectionTable::count_of(const HttpSource& source) const {
  const auto own = of_source_.find(source);
  return own == of_source_.end() ? 0 : own->second;
}

void HttpConnectionTable::close(int socket) {
  const auto found = connections_.find(socket);
  if (found != connections_.end()) {
    cut(found->second);
    connections_.erase(found);
  }
}

void HttpConnectionTable::enter(int socket, State state, std::uint64_t now_ms) {
  const auto found = connections_.find(socket);
  if (found != connections_.end() && found->second.state != State::Cut) {
    found->second.state = state;
    found->second.since_ms = now_ms;
  }
}

// It counts no more.
void HttpConnectionTable::cut(Connection& connection) {
  if (connection.state == State::Cut) {
    return;
  }
  connection.state = State::Cut;
  const auto own = of_source_.find(connection.source);
  GCOORD_ASSERT(own != of_source_.end() && counted_ > 0);
  --counted_;
  if (--own->second == 0) {
    of_source_.erase(own);
  }
}

HttpConnectionTable::Late HttpConnectionTable::take_late(std::uint64_t now_ms) {
  Late late;
  for (auto& [socket, connection] : connections_) {
    if (late_ms(connection) <= now_ms) {
      late.sockets.push_back(socket);
      late.slow += connection.state == State::Idle ? 0 : 1;
      cut(connection);
    }
  }
  return late;
}

std::uint64_t HttpConnectionTable::until_late_ms(std::uint64_t now_ms,
                                                 std::uint64_t at_most) const {
  std::uint64_t first_ms = now_ms + at_most;
  for (const auto& [socket, connection] : connections_) {
    first_ms = std::min(first_ms, late_ms(connection));
  }
  return first_ms - std::min(first_ms, now_ms);
}

std::uint64_t HttpConnectionTable::late_ms(const Connection& connection) const {
  const auto after = [&](std::chrono::milliseconds time) {
    return connection.since_ms + static_cast<std::uint64_t>(time.count());
  };
  switch (connection.state) {
    case State::Header:
      return after(limits_.header_time);
    case State::Answer:
      return after(limits_.request_time);
    case State::Idle:
      return after(limits_.idle_time);
    case State::Cut:
      break;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

std::vector<int> HttpConnectionTable::waiting() const {
  std::vector<int> sockets;
  for (const auto& [socket, connection] : connections_) {
    if (waits(connection.state)) {
      sockets.push_back(socket);
    }
  }
  return sockets;
}

std::optional<int> HttpConnectionTable::longest_waiting(const HttpSource* source) const {
  std::optional<int> longest;
  std::uint64_t since_ms = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [socket, connection] : connections_) {
    if (waits(connection.state) && (source == nullptr || connection.source == *source) &&
        connection.since_ms < since_ms) {
      longest = socket;
      since_ms = connection.since_ms;
    }
  }
  return longest;
}

}  // namespace gcoord::server
