// Judge of watches by the rights of their clients (server/watch/judge.h).
//
// A watch of a name or prefix is allowed over all that it is about or not at all: one that begins
// above the grant is refused, since it would be told nothing of what it asked for beside the grant
// and could not see that. A watch of a session is told of the names that its client may watch. One
// thread, the node's loop.
#pragma once

#include "server/gate/request_gate.h"
#include "server/watch/judge.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

class WatchGate final : public WatchJudge {
 public:
  // It outlives it.
  explicit WatchGate(RequestGate& gate) : gate_(gate) {}

  std::uint64_t epoch() const override { return gate_.epoch(); }

  WatchVerdict judge(protocol::ConnectionId connection, const WatchFilter& filter) override;

  std::vector<std::byte> mask(protocol::ConnectionId connection,
                              std::span<const std::byte> message) override;

  void on_ended() override { gate_.refusals().add_ended_watch(); }

 private:
  RequestGate& gate_;
};

}  // namespace gcoord::server
