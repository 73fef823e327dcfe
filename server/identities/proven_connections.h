// Connections that have proven who they are, for as long as that holds.
//
// A proof by a password or a token ends when the user is deleted, disabled, or given another
// password: whoever has the password of before would keep what it opens for as long as a connection
// lives. Once the table of users has changed, end_outdated() makes nobody of each such connection,
// so that nothing that is still to be judged is judged as the user's, and has it closed.
//
// A token and a certificate have an end of their own, which a connection would outlive likewise:
// end_expired() has it closed then. It stays who it was until then, since it did no wrong: a client
// that can log in again does so, and what it waits for goes on. Ids of connections that are gone
// are dropped from time to time. One thread, the node's loop.
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

// Why a connection's proof holds no more.
enum class ProofEnd : std::uint8_t {
  Revoked,  // The user was changed or is gone.
  Expired,  // The time of its token or certificate is over.
};

class ProvenConnections {
 public:
  // Both outlive it.
  ProvenConnections(ConnectionIdentities& connections, const UserDirectory& users)
      : connections_(connections), users_(users) {}

  // Closes a connection whose proof has ended, after everything that is queued for it was sent. It
  // gets nothing more from then on. Without it the connection is only nobody's, or goes on.
  using Cut = std::function<void(protocol::ConnectionId, ProofEnd)>;

  void set_cut(Cut cut) { cut_ = std::move(cut); }

  // It has proven who it is, perhaps once more; its proof is the present one.
  void add(protocol::ConnectionId connection);

  // Once per pass. Whether any proof has ended; it costs a look while the users are the same.
  bool end_outdated();

  // Once per pass, at this Unix time. Whether any proof has ended; it costs a look while none has.
  bool end_expired(std::uint64_t now_s);

  // Connections that are looked at when the users change,
  std::size_t size() const { return known_.all.size(); }

  // and the ends that are still to come.
  std::size_t end_count() const { return ends_.all.size(); }

 private:
  // Some are of connections that are gone, some are there twice: both are dropped whenever the list
  // has doubled.
  template <typename Item>
  struct Kept {
    static constexpr std::size_t kDropsAt = 1024;

    // Before one is added. `key` puts them in an order in which equal ones are neighbours.
    template <typename Key, typename IsOver>
    void make_room(const Key& key, const IsOver& is_over);

    std::vector<Item> all;
    std::size_t drops_at = kDropsAt;
  };

  // Of a proof, which another one may have replaced since.
  struct End {
    std::uint64_t at_s = 0;
    protocol::ConnectionId connection;

    friend bool operator==(const End&, const End&) = default;

    // The earliest is on top of a heap.
    friend bool operator<(const End& left, const End& right) { return left.at_s > right.at_s; }
  };

  void add_end(const End& end);

  bool has_ended(const ConnectionIdentity& identity) const;

  ConnectionIdentities& connections_;
  const UserDirectory& users_;
  Cut cut_ = [](protocol::ConnectionId, ProofEnd) {};
  Kept<protocol::ConnectionId> known_;
  Kept<End> ends_;           // A heap.
  std::uint64_t epoch_ = 0;  // Of the users, as of the last look.
};

// Whether what was proven of a user at this epoch of the table still holds.
bool proof_holds(const UserDirectory& users, std::string_view user, std::uint64_t roles_epoch);

}  // namespace gcoord::server
