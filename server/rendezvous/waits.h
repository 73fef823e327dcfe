// The requests of clients that wait for a round of a rendezvous, or for a change of it.
// One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/waits/named_waits.h"
#include "server/waits/wait_judge.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace gcoord::server {

inline constexpr std::size_t kRendezvousWaitsMax = 65'536;

struct RendezvousWait {
  protocol::ConnectionId connection;
  protocol::RequestSlot request;
  std::string name;
  Tick deadline = kTickNever;
  bool joins = false;         // For a round; else for a change.
  bool ending = false;        // Its deadline has passed, and the log has the end of its wait.
  std::string report;         // How many had come then.
  std::uint64_t version = 0;  // For a change: what the client knows.
  WaitOwner owner = {};
  std::string refusal = {};  // Why it is not allowed any more.
};

using RendezvousWaits = NamedWaits<RendezvousWait, kRendezvousWaitsMax>;

}  // namespace gcoord::server
