// The replicated state of the cluster view: the newest view, and how it came of an earlier one.
//
// The last changes are kept as the commands that made them, on top of the view before them, so that
// whoever watches can go on from an epoch that it has seen, at any node and after a restart. Equal
// logs give equal tables. Plain value; no thread rules.
#pragma once

#include "protocol/members/cluster_view.h"

#include <cstddef>
#include <deque>
#include <vector>

namespace gcoord::membership {

using protocol::ClusterView;
using protocol::Member;
using protocol::MemberLabel;
using protocol::MemberRole;
using protocol::MemberState;
using protocol::ViewSettings;

// Views that can still be read beside the oldest one kept.
inline constexpr std::size_t kViewChangesMax = 32;

struct ViewTable {
  ClusterView base;  // The oldest view kept; none before the first.
  // Encoded commands; the one at k makes the view of epoch base.epoch + 1 + k.
  std::deque<std::vector<std::byte>> changes;
  ClusterView view;  // The newest: base and all changes.

  friend bool operator==(const ViewTable& a, const ViewTable& b) = default;
};

}  // namespace gcoord::membership
