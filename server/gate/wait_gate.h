// Judge of the requests that wait, by the rights of who made them (server/waits/wait_judge.h).
//
// The principal is the connection's, and where that is gone the one that it had: else whoever hangs
// up would keep a place in a queue that it may not have any more. One thread, the node's loop.
#pragma once

#include "server/gate/request_gate.h"
#include "server/waits/wait_judge.h"

#include <cstdint>
#include <string>

namespace gcoord::server {

class WaitGate final : public WaitJudge {
 public:
  // It outlives it.
  explicit WaitGate(RequestGate& gate) : gate_(gate) {}

  std::uint64_t epoch() const override { return gate_.epoch(); }

  WaitOwner owner(protocol::ConnectionId connection) const override;

  std::string refusal(const JudgedWait& wait) override;

 private:
  RequestGate& gate_;
};

}  // namespace gcoord::server
