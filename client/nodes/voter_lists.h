// Lists of voters whose acknowledgements renew a session: a majority of each of them.
//
// The first list is that of the newest view that is known; the others are of earlier views that
// some leader may still go by. A cluster without views has one list, of all its nodes. A leader
// ends a session only by a majority of voters that were silent, of a view that is among these or
// has a majority that this client cannot have counted (docs/adr/0111).
//
// Plain value; pure; no thread rules.
#pragma once

#include "common/ids.h"
#include "gcoord/clock.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::client {

struct VoterLists {
  std::vector<std::vector<NodeId>> lists;  // None is empty.

  // False without a list.
  bool is_majority(std::span<const NodeId> nodes) const;

  // The newest moment that a majority of each list has reached, of the newest of each node; none:
  // there is no majority of some list, or no list.
  std::optional<TimePoint> reached(std::span<const std::pair<NodeId, TimePoint>> moments) const;

  friend bool operator==(const VoterLists& a, const VoterLists& b) = default;
};

}  // namespace gcoord::client
