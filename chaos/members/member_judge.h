// Judge of a world whose nodes come and go: views, configurations, and who counts.
//
// All nodes see one sequence of views, whose epochs rise by one; an id is given once, and a node
// that has left stays so; it has left only when no shard has it any more. The rest is in
// chaos/promises (configuration_watch.h, quorum_watch.h). One thread.
#pragma once

#include "chaos/members/view_seam.h"
#include "chaos/promises/configuration_watch.h"
#include "chaos/promises/quorum_watch.h"
#include "chaos/promises/turn_watch.h"
#include "common/ids.h"
#include "consensus/step/message.h"
#include "protocol/members/cluster_view.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace gcoord::chaos {

class MemberJudge {
 public:
  MemberJudge(std::uint32_t shard_count, std::uint32_t founders);

  // Each returns nothing, or what is broken.
  std::string on_view(NodeId node, const SeenView& seen);
  // `target`: the epoch of the view that the step's node brings its shards to; asked at need.
  std::string on_step(const SeenStep& step, const std::function<std::uint64_t()>& target);

  void on_message(const consensus::Message& message) { quorums_.on_message(message); }

  // The newest view that any node has had; epoch 0: none yet.
  const protocol::ClusterView& newest() const;

  // Whether the nodes of the newest view have found their places: nobody comes or goes.
  bool is_calm() const;

  // Whether of some view that may count yet fewer than half of the voters are there, without those
  // that have left and these machines: after a restart nobody can show that it is left, and an
  // operator has to vouch for who leaves (docs/adr/0111).
  bool is_unprovable(const std::set<NodeId>& lost) const;

  // The nodes of the newest view and how far each has come.
  std::string text() const;

  // Whether no shard but that of the views has the node by its newest decided configuration.
  bool is_nowhere(NodeId node) const;

  std::uint64_t configuration_changes() const { return configurations_.changes(); }

 private:
  std::string on_next(const protocol::ClusterView& before,
                      const protocol::ClusterView& after) const;

  std::uint32_t shard_count_;
  std::map<std::uint64_t, protocol::ClusterView> views_;  // By epoch.
  ConfigurationWatch configurations_;
  QuorumWatch quorums_;
};

}  // namespace gcoord::chaos
