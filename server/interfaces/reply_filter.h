// Filter of what clients are answered: the front end asks it before a reply leaves.
//
// The node's gate implements it (server/gate/reply_gate.h). One thread, the node's loop.
#pragma once

#include "protocol/reply_sink.h"
#include "protocol/request.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::server {

class ReplyFilter {
 public:
  virtual ~ReplyFilter() = default;

  // The payload as the client may see it; nothing: as it is.
  virtual std::optional<std::vector<std::byte>> masked(protocol::ConnectionId connection,
                                                       const protocol::ReplySlot& slot,
                                                       std::span<const std::byte> payload) = 0;

  // See protocol::ReplySink.
  virtual bool lists(protocol::ConnectionId connection, std::string_view name) = 0;

  // Whether only clients that have proven who they are may ask for anything.
  virtual bool proven_only() const { return false; }

  // Whether the client has proven to be somebody who administers the cluster, its nodes or its
  // users, and rights are checked.
  virtual bool is_operator(protocol::ConnectionId) { return false; }
};

}  // namespace gcoord::server
