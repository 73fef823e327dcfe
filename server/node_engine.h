// The engine of a node as its loop sees it, whichever turn it runs: the host's (replica_engine.h),
// or one that stays on a device (resident_engine.h).
//
// The calls mean what ReplicaEngine says of them, where this page says nothing else. One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/checkpoint_store.h"
#include "server/replica_port.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::server {

class NodeEngine : public ReplicaPort {
 public:
  virtual std::size_t turn() = 0;
  virtual Status failure() const = 0;

  virtual bool arm() = 0;
  virtual std::vector<int> event_fds() const = 0;
  virtual std::chrono::milliseconds until_next_deadline() const = 0;
  virtual bool shrink() = 0;

  virtual Incarnation incarnation() const = 0;
  virtual std::uint16_t listen_port() const = 0;

  // Whether transfer() does anything.
  virtual bool transfers() const = 0;
  virtual void transfer(ShardId shard, NodeId to) = 0;

  // As ReplicaEngine says. An engine whose checkpoints hold no services' states, and so nothing
  // that a snapshot could be made of, has no store here.
  virtual const ledger::CheckpointStore* checkpoints() const { return nullptr; }

  virtual std::uint64_t request_checkpoint() { return 0; }

  virtual std::optional<Status> checkpoint_outcome(std::uint64_t number) const {
    static_cast<void>(number);
    return std::nullopt;
  }

  // By what way the shards' messages reach a peer, and why, if not by the peer's `transport`; empty
  // otherwise.
  virtual std::string shard_channel(NodeId peer) const = 0;
};

}  // namespace gcoord::server
