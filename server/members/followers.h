// Followers of earlier views: by which of them some node may still go, as far as this node knows.
//
// A view is left once at least half of its own voters have said a newer epoch. Nobody can have a
// majority of it without one of them from then on: clients count no acknowledgement of a node with
// a newer view than their own, and leaders no answer of one (docs/adr/0111). What a node said is
// kept, also once it has left the cluster. After a restart all views that are still kept count as
// not left until their voters were heard; but those before the one that the last voter was removed
// from do not, because a node is removed only once they were left (upkeep.h), or somebody vouched
// for it (--force).
//
// Pure; one thread.
#pragma once

#include "common/ids.h"
#include "protocol/members/cluster_view.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace gcoord::server {

class ViewFollowers {
 public:
  // Of the views that shard 0's state keeps (membership::kViewChangesMax), a few are for those
  // under way.
  static constexpr std::uint64_t kUnleftMax = 24;

  using EpochOf = std::function<std::uint64_t(NodeId)>;

  // Those that this node knows, as membership::ViewCpu has them.
  struct Views {
    std::uint64_t oldest = 0;
    std::uint64_t newest = 0;  // 0: there is none.
    std::function<std::optional<protocol::ClusterView>(std::uint64_t epoch)> at;
  };

  // After each new view, and about once a second besides. epoch_of: the epoch that a node said to
  // have, of this one that by which it goes itself; 0: none. Whether earlier_voters() has changed.
  bool look(const Views& views, const EpochOf& epoch_of);

  // ClusterMembers::earlier_voters: of the views that are not left, newest first, each list once
  // and none that is the newest view's. What leaders then wait for in addition is
  // server/sessions/voters.h's.
  const std::vector<std::vector<NodeId>>& earlier_voters() const { return lists_; }

  // Whether no more views may be made for now: each view that is not left must be among those that
  // a restart finds in shard 0's state, or its voters would be forgotten there. A leader that was
  // told less than others only waits for longer.
  bool is_full() const { return newest_.epoch - settled() >= kUnleftMax; }

  // The lowest epoch of a view that is not left, which may be the newest one; 0: there is no view.
  std::uint64_t settled() const {
    return earlier_.empty() ? newest_.epoch : earlier_.front().epoch;
  }

 private:
  struct Voters {
    std::uint64_t epoch = 0;
    std::vector<NodeId> nodes;
  };

  void take_views(const Views& views);
  void hear(const EpochOf& epoch_of);
  bool is_left(const Voters& view) const;

  Voters newest_;
  std::vector<Voters> earlier_;   // Those that are not left, by rising epoch.
  std::uint64_t left_below_ = 0;  // Views before this one are left.
  std::map<NodeId, std::uint64_t> said_;
  std::vector<std::vector<NodeId>> lists_;
};

}  // namespace gcoord::server
