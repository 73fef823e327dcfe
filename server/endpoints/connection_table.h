// Table of the open client connections of a front end: where each stands under its id, which of
// them holds the most, and which gives its place to a newcomer.
//
// Ids are never used twice: a place is, under a new generation. One thread.
#pragma once

#include "protocol/reply_sink.h"
#include "server/endpoints/connection.h"
#include "server/endpoints/connection_account.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::server {

// A welcomed connection without any request under way gives its place to a newcomer after so long.
inline constexpr std::uint64_t kGivesWayMs = 10'000;

// One on an unsettled place, without a login under way, after so long.
inline constexpr std::uint64_t kUnsettledGivesWayMs = 1'000;

// Places that are looked at for one newcomer.
inline constexpr std::size_t kGivesWayLooks = 4096;

class ConnectionTable {
 public:
  // A place for a connection that is made next; put it there at once.
  protocol::ConnectionId reserve();
  void put(protocol::ConnectionId id, std::shared_ptr<Connection> connection);

  // nullptr when the connection is gone.
  Connection* find(protocol::ConnectionId id) const;

  // Takes it out; its place is free. It is there.
  std::shared_ptr<Connection> take(protocol::ConnectionId id);

  // All of now; they may be taken out while the caller goes through them.
  std::vector<std::shared_ptr<Connection>> all() const;

  std::size_t size() const { return count_; }

  // Of the source that holds the most of this, or of the source of `of` alone, the connection that
  // holds the most; nullptr when nobody holds any.
  Connection* largest(HeldBytes kind, const Connection* of) const;

  // The connection that gives way to a newcomer: one of the same source where that has all it may
  // have (`same_source`), else one of the source with the most connections, if that is the
  // newcomer's or has more than it. First those that did not say Hello, or not who they are where
  // that is needed, the oldest first; then those that have been quiet for kGivesWayMs. None on an
  // unsettled place: where all are taken, newcomers come all the time, and no operator would have
  // the time to log in. nullptr: nobody does.
  Connection* gives_way(const ClientSource& newcomer, bool same_source, std::uint64_t now_ms);

  // The connection on an unsettled place that gives it to a newcomer which may prove to be an
  // operator: the oldest, of the same source where that has all such places that it may have, whose
  // place has been unsettled for kUnsettledGivesWayMs while nothing of it is under way. Else who
  // only says Hello would keep operators out. nullptr: none does.
  Connection* unsettled_gives_way(const ClientSource& newcomer,
                                  bool same_source,
                                  std::uint64_t now_ms) const;

  // Whether who has not proven who it is may ask for nothing.
  void set_proven_only(bool proven_only) { proven_only_ = proven_only; }

 private:
  bool is_known(const Connection& connection) const;

  struct Place {
    std::uint32_t generation = 0;
    std::uint64_t arrival = 0;  // Rises with each connection.
    std::shared_ptr<Connection> connection;
  };

  std::vector<Place> places_;
  std::vector<std::uint32_t> free_;
  std::size_t count_ = 0;
  std::uint64_t arrivals_ = 0;
  std::size_t next_look_ = 0;
  bool proven_only_ = false;
};

}  // namespace gcoord::server
