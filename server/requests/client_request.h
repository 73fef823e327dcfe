// A client's request as its handlers get it: the connection, the checked slot, the payload, what an
// I/O thread has prepared of it, and under which authority it was let in.
//
// References, spans and pointers live for the call only. Plain value; no thread rules.
#pragma once

#include "protocol/lock_messages.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/ingress/lock_command.h"
#include "server/ingress/prepared_requests.h"
#include "server/interfaces/authority.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace gcoord::server {

struct ClientRequest {
  protocol::ConnectionId connection;
  const protocol::RequestSlot& slot;
  std::span<const std::byte> payload;
  const PreparedRequest* prepared = nullptr;  // None: the loop's thread does all.
  Authority authority = {};                   // As the request gate found (server/gate).

  // Of a plain acquire or release that was checked, as it was prepared or as it is made now.
  locks::LockCommand lock_command() const {
    return prepared != nullptr ? prepared->command : server::lock_command(slot, payload);
  }

  // The entries of that command for a log on a device; perhaps none.
  std::span<const locks::LockEntry> entries() const {
    return prepared != nullptr ? prepared->entries : std::span<const locks::LockEntry>{};
  }

  IngressWay way() const {
    const bool plain = is_plain_lock_request(slot.kind);
    return prepared != nullptr ? prepared->way : plain ? IngressWay::Loop : IngressWay::OtherKind;
  }

  // The payload of kinds that carry a name alone.
  std::string_view text() const { return protocol::text_of(payload); }
};

}  // namespace gcoord::server
