// The requests of clients that wait for a round of a rendezvous, or for a change of it.
//
// Kept by the leader of the shard alone, and not replicated: the next leader gets the requests
// again from their clients. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

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
};

class RendezvousWaits {
 public:
  using Wanted = std::function<bool(const RendezvousWait&)>;

  // Whether it is over at its deadline; may change it.
  using Due = std::function<bool(ShardId, RendezvousWait&)>;

  // False: there are too many.
  bool add(ShardId shard, NameHash name, RendezvousWait wait);

  // Takes the waits for a name out that `wanted` says yes to.
  std::vector<RendezvousWait> take(ShardId shard, NameHash name, const Wanted& wanted);

  // The same of a whole shard.
  std::vector<RendezvousWait> take_of_shard(ShardId shard, const Wanted& wanted);

  // Every wait whose deadline has passed and that is over.
  std::vector<RendezvousWait> take_due(Tick now, const Due& due);

  // The end of a session's wait did not get into the log, and is to be proposed again at that tick.
  struct LateEnd {
    ShardId shard;
    std::uint64_t session = 0;
    std::uint64_t sequence = 0;
    Tick again_at;
  };

  void retry_end(const LateEnd& end);

  Tick next_deadline() const { return next_deadline_; }

  std::size_t size() const { return size_; }

 private:
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;
  using Waits = std::map<Key, std::vector<RendezvousWait>>;

  // Takes from one entry; the one behind it.
  Waits::iterator take_from(Waits::iterator each,
                            const std::function<bool(RendezvousWait&)>& wanted,
                            std::vector<RendezvousWait>& taken);

  Waits waits_;
  std::size_t size_ = 0;
  Tick next_deadline_ = kTickNever;
};

}  // namespace gcoord::server
