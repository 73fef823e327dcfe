// The keys of a client's sessions, and which connection has shown which of them.
//
// A node hands the key out with the session. Before a connection sends the first request of a
// session, it attaches the session with the key; nodes serve requests of a connection in order, so
// nobody waits for the answer. Keys of sessions that have ended are kept for a while, since a close
// may be on its way to other nodes. Thread-safe, but for a connection's list, which is of the
// client's thread.
#pragma once

#include "common/ids.h"
#include "protocol/request.h"
#include "security/credentials/session_key.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace gcoord::client {

class SessionKeyring {
 public:
  // Sessions that ended; their keys are kept until so many others have.
  static constexpr std::size_t kEndedKept = 1024;

  // The sessions that one connection has attached.
  using Attached = std::unordered_set<std::uint64_t>;

  void keep(SessionId session, const security::SessionKey& key);

  // Of the reply to a request that opens sessions, or attaches one by a key of the secret before.
  void hear(const protocol::ReplySlot& slot, std::span<const std::byte> payload);

  void on_ended(SessionId session);

  std::optional<security::SessionKey> find(SessionId session) const;

  // Requests that attach a session to a connection, and what they show.
  struct Shown {
    protocol::RequestSlot slot;
    security::SessionKey key;
  };

  // Requests that the connection must send before this one: an attachment for each of its sessions
  // whose key is known and that it has not attached yet. They count as attached from now on.
  std::vector<Shown> before(const protocol::RequestSlot& slot,
                            std::span<const std::byte> payload,
                            Attached& attached) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, security::SessionKey> keys_;
  std::deque<SessionId> ended_;
};

}  // namespace gcoord::client
