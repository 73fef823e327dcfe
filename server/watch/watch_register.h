// Register of the open watches: by number, by their client's request, and by when they are due.
//
// One thread.
#pragma once

#include "server/watch/watch.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

namespace gcoord::server {

class WatchRegister {
 public:
  // Of a watch in the order of connections and of their requests; the default is before all.
  using Place = std::pair<std::uint64_t, std::uint64_t>;

  std::uint64_t next_number() { return ++newest_; }

  // With its number, connection, request and progress times.
  Watch& add(std::unique_ptr<Watch> watch);

  void erase(const Watch& watch);

  // nullptr when there is none.
  Watch* find(protocol::ConnectionId connection, std::uint64_t request_id) const;
  Watch* first_of(protocol::ConnectionId connection) const;
  Watch* numbered(std::uint64_t number) const;

  // A watch whose progress is due at this time, which has its next one from then on; nullptr when
  // there is none.
  Watch* take_due(std::uint64_t now_ms);

  static Place place_of(const Watch& watch) {
    return {watch.connection.value, watch.request.request_id};
  }

  // The watch that comes behind this place; nullptr behind the last.
  Watch* behind(const Place& place) const;

  // Any of them; there must be one.
  Watch& any() const { return *watches_.begin()->second; }

  // The connection with watches that comes behind this one in their order; 0 behind the last.
  protocol::ConnectionId connection_behind(protocol::ConnectionId connection) const;

  // Whether progress of a watch is due at this time.
  bool is_due(std::uint64_t now_ms) const {
    return !timed_.empty() && timed_.begin()->first <= now_ms;
  }

  std::size_t connection_count() const { return connections_.size(); }

  std::size_t size() const { return watches_.size(); }

 private:
  std::unordered_map<std::uint64_t, std::unique_ptr<Watch>> watches_;  // By number.
  std::map<Place, std::uint64_t> numbers_;
  std::unordered_map<std::uint64_t, std::size_t> connections_;  // With the count of watches.
  std::set<std::pair<std::uint64_t, std::uint64_t>> timed_;     // When, and whose progress is due.
  std::uint64_t newest_ = 0;
};

}  // namespace gcoord::server
