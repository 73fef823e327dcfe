// A client's request as its handlers get it: the connection, the checked slot, and the payload.
//
// References and spans live for the call only. Plain value; no thread rules.
#pragma once

#include "rpc/lock_messages.h"
#include "rpc/request.h"
#include "server/reply_sink.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace gcoord::server {

struct ClientRequest {
  ConnectionId connection;
  const rpc::RequestSlot& slot;
  std::span<const std::byte> payload;

  // The payload of kinds that carry a name alone.
  std::string_view text() const { return rpc::text_of(payload); }
};

}  // namespace gcoord::server
