// The requests of clients that wait for another view of a group, or at its barrier.
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

inline constexpr std::size_t kGroupWaitsMax = 65'536;

struct GroupWait {
  protocol::ConnectionId connection;
  protocol::RequestSlot request;
  std::string name;
  WaitOwner owner;
  std::string refusal = {};  // Why it is not allowed any more.
  Tick deadline = kTickNever;
  // At a barrier: which one, and for how many.
  std::uint64_t generation = 0;
  std::uint32_t size = 0;
  bool ending = false;  // Its deadline has passed, and the log has the end of its wait.
  std::string report;   // The missing members then.
  // For a view: the one that the client has.
  std::uint64_t epoch = 0;
  std::uint32_t member_count = 0;

  bool at_barrier() const { return generation != 0; }
};

using GroupWaits = NamedWaits<GroupWait, kGroupWaitsMax>;

}  // namespace gcoord::server
