// Connections that have proven who they are by a password or a token, for as long as that holds.
//
// Such a proof ends when the user is deleted, disabled, or given another password: whoever has the
// password of before would keep what it opens for as long as a connection lives. Once the table of
// users has changed, end_outdated() makes nobody of each connection whose proof has ended, so that
// nothing that is still to be judged is judged as the user's, and has it closed. What a certificate
// proves is not touched. Ids of connections that are gone are dropped from time to time. One
// thread, the node's loop.
#pragma once

#include "protocol/reply_sink.h"
#include "server/identities/connection_identity.h"
#include "server/identities/user_directory.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::server {

class ProvenConnections {
 public:
  // Both outlive it.
  ProvenConnections(ConnectionIdentities& connections, const UserDirectory& users)
      : connections_(connections), users_(users) {}

  // What closes a connection whose proof has ended, after what it is owed was sent. Without it the
  // connection is only nobody's.
  void set_cut(std::function<void(protocol::ConnectionId)> cut) { cut_ = std::move(cut); }

  // It has proven who it is, perhaps once more.
  void add(protocol::ConnectionId connection);

  // Once per pass. Whether any proof has ended; it costs a look while the users are the same.
  bool end_outdated();

  // Connections that are looked at when the users change.
  std::size_t size() const { return known_.size(); }

 private:
  static constexpr std::size_t kDropsAt = 1024;

  bool has_ended(const ConnectionIdentity& identity) const;

  ConnectionIdentities& connections_;
  const UserDirectory& users_;
  std::function<void(protocol::ConnectionId)> cut_ = [](protocol::ConnectionId) {};
  std::vector<protocol::ConnectionId> known_;  // Some are gone, and some are there twice.
  std::size_t drops_at_ = kDropsAt;
  std::uint64_t epoch_ = 0;  // Of the users, as of the last look.
};

// Whether what was proven of a user at this epoch of the table still holds.
bool proof_holds(const UserDirectory& users, std::string_view user, std::uint64_t roles_epoch);

}  // namespace gcoord::server
