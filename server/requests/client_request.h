// A client's request as its handlers get it: the connection, the checked slot, and the payload.
//
// References and spans live for the call only. Plain value; no thread rules.
#pragma once

#include "protocol/lock_messages.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace gcoord::server {

struct ClientRequest {
  protocol::ConnectionId connection;
  const protocol::RequestSlot& slot;
  std::span<const std::byte> payload;

  // The payload of kinds that carry a name alone.
  std::string_view text() const { return protocol::text_of(payload); }
};

}  // namespace gcoord::server
