// Filter of replies by what the client's principal may see (server/rights/reply_mask.h).
//
// The front end asks it for each reply, whoever made it and however late; rights are those of the
// moment of the reply. Messages of watches are masked where they are made (watch_gate.h). One
// thread, the node's loop.
#pragma once

#include "server/gate/request_gate.h"
#include "server/interfaces/reply_filter.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::server {

class ReplyGate final : public ReplyFilter {
 public:
  // It outlives it.
  explicit ReplyGate(RequestGate& gate) : gate_(gate) {}

  std::optional<std::vector<std::byte>> masked(protocol::ConnectionId connection,
                                               const protocol::ReplySlot& slot,
                                               std::span<const std::byte> payload) override;

  bool lists(protocol::ConnectionId connection, std::string_view name) override;

  bool proven_only() const override { return gate_.on(); }

  bool is_operator(protocol::ConnectionId connection) override;

 private:
  RequestGate& gate_;
};

}  // namespace gcoord::server
