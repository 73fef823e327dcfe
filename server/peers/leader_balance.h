// Gives leaderships back to the nodes that should have them.
//
// Which node should lead which shard is arithmetic (membership/placement.h). After a start that was
// not simultaneous, or a node's death and return, one node leads more than its share and another
// one, which clients and disks could use, leads nothing. Once a second, a node that leads more than
// its share hands some of the shards that prefer a living peer to that peer: only to peers that
// have lived for a while, only while its own share does not rise (somebody else is moving shards,
// perhaps because it is leaving), and only so many at once that clients hardly notice. Transfers
// are those of the Raft thesis, section 3.10. A balanced node only compares two numbers. One
// thread.
#pragma once

#include "common/ids.h"
#include "membership/placement.h"
#include "server/interfaces/replica_view.h"

#include <cstdint>
#include <functional>
#include <map>

namespace gcoord::server {

class LeaderBalance {
 public:
  struct Hooks {
    std::function<ShardView(ShardId)> view;
    std::function<void(ShardId, NodeId)> transfer;
    std::function<bool(NodeId)> takes = {};  // Whether a peer is to have more; empty: each is.
    // Whether a peer is a witness, so that its share is the others'; empty: none is.
    std::function<bool(NodeId)> never_leads = {};
  };

  explicit LeaderBalance(Hooks hooks) : hooks_(std::move(hooks)) {}

  // Once a second, with the node as it is now. Returns how many shards are on their way.
  std::uint32_t sweep(const NodeView& node);

  // Sweeps for which a peer must have lived and the own share must not have risen.
  static constexpr std::uint32_t kSettledSweeps = 3;
  // Shards looked at by one sweep for each that it may hand over: 32,768 take about 4 ms.
  static constexpr std::uint32_t kLooksEach = 4;

 private:
  void take_note(const NodeView& node);
  bool settled(NodeId peer) const;
  NodeId preferred(const ShardView& shard) const;

  bool never_leads(NodeId peer) const { return hooks_.never_leads && hooks_.never_leads(peer); }

  Hooks hooks_;
  std::map<std::uint32_t, std::uint32_t> live_sweeps_;  // By peer: in a row.
  std::uint32_t quiet_sweeps_ = 0;                      // In a row without a rise of the own share.
  std::uint32_t leader_count_ = 0;                      // At the last sweep.
  std::uint32_t cursor_ = 0;
  std::uint32_t allowed_ = membership::kTransfersFirst;
  std::uint32_t handed_over_ = 0;  // By the last sweep.
};

}  // namespace gcoord::server
