// Hands the leaderships of a node whose disk is low to peers that have space.
//
// A leader with a low disk refuses new locks of its shards (server/requests/space_admission.h);
// another leader does not. So once a second such a node hands some of its shards to living peers
// that have not said that theirs is low (node_features.h), by turns. Where there is none, it keeps
// them: somebody has to lead. Meanwhile no balance of leaders gives any back
// (LeaderBalance::Hooks::takes). Transfers are those of the Raft thesis, section 3.10. One thread.
#pragma once

#include "common/ids.h"
#include "server/interfaces/replica_view.h"

#include <cstdint>
#include <functional>
#include <utility>

namespace gcoord::server {

class LeaderRelief {
 public:
  struct Hooks {
    std::function<ShardView(ShardId)> view;
    std::function<void(ShardId, NodeId)> transfer;
    std::function<bool(NodeId)> takes;  // Whether a peer is to have more.
  };

  explicit LeaderRelief(Hooks hooks) : hooks_(std::move(hooks)) {}

  // Once a second while the disk is low. Returns how many shards are on their way.
  std::uint32_t sweep(const NodeView& node);

  // Of one sweep: 65,536 shards on three nodes are handed over in half a minute.
  static constexpr std::uint32_t kTransfersMax = 1024;
  static constexpr std::uint32_t kLooksMax = 16 * kTransfersMax;

 private:
  Hooks hooks_;
  std::uint32_t cursor_ = 0;
};

}  // namespace gcoord::server
