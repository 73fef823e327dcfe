// Sink of answers to clients: the interface between the services and the front end.
//
// One thread. A sink takes any number of replies within a turn and sends them together; a reply to
// a connection that is gone is dropped.
#pragma once

#include "common/strong_id.h"
#include "protocol/request.h"
#include "security/credentials/principal.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gcoord::protocol {

// A client connection of this process; never used twice. 0 means "none".
using ConnectionId = StrongId<struct ConnectionIdTag, std::uint64_t>;

// "7.1": the place of a connection among those of its node, and how many have had the place.
inline std::string connection_name(ConnectionId connection) {
  return std::to_string(connection.value & 0xffff'ffff) + "." +
         std::to_string(connection.value >> 32);
}

// The origin of a request, as the log keeps it. Never renumber.
enum class RecordOrigin : std::uint8_t {
  System = 0,    // The cluster itself: an expiry, a wait whose time ran out.
  Loopback = 1,  // A client on the node's own host.
  Remote = 2,
};

class ReplySink {
 public:
  virtual ~ReplySink() = default;

  // The request now waits for what another client does, perhaps for hours: it no longer counts
  // against what its connection may have unanswered (its keep-alives must still be read). unpark
  // comes right before its reply. What waits is bounded by the caps of the lock service.
  virtual void park(ConnectionId connection) = 0;
  virtual void unpark(ConnectionId connection) = 0;

  // Exactly one call per request that was taken. The payload is copied.
  virtual void reply(ConnectionId connection,
                     const ReplySlot& slot,
                     std::span<const std::byte> payload) = 0;

  // A reply besides: of a request that was answered and goes on being told of (a watch). It is
  // parked until its last reply.
  virtual void push(ConnectionId connection,
                    const ReplySlot& slot,
                    std::span<const std::byte> payload) {
    reply(connection, slot, payload);
  }

  // Bytes that wait for the client to read; nothing when the connection is gone.
  virtual std::optional<std::size_t> backlog_bytes(ConnectionId connection) const {
    static_cast<void>(connection);
    return 0;
  }

  // connection 7.1 of 127.0.0.1:4711 ("gcoordctl"), for the node's log: what the client said of
  // itself is quoted (common/text/printable.h).
  virtual std::string describe(ConnectionId connection) const {
    return "connection " + connection_name(connection);
  }

  // Whether a list may show the client the lock of this name. What a list leaves out so it does not
  // count either, so that no page tells that something is there.
  virtual bool lists(ConnectionId connection, std::string_view name) const {
    static_cast<void>(connection);
    static_cast<void>(name);
    return true;
  }

  // Whether the connection's other end is on this host; for what the log says of who asked.
  virtual RecordOrigin origin(ConnectionId connection) const {
    static_cast<void>(connection);
    return RecordOrigin::Loopback;
  }

  // Who the connection speaks for: Anonymous until it has proven somebody, and once it is gone.
  virtual const security::Principal& principal(ConnectionId connection) const {
    static const security::Principal kAnonymous;
    static_cast<void>(connection);
    return kAnonymous;
  }
};

}  // namespace gcoord::protocol
