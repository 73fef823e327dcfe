// The nodes of a cluster by the numbers that rows on devices know them by.
//
// A row names its voters 1 to 3, in the order of their ids, and so does all that travels between
// devices: a word says who leads in two bits (leader_table.h), and the place of a node in a row
// follows from its number. Ids are any three. They become numbers where something goes to a device,
// and ids again where it is told to a host; storage, services and operators know ids. All nodes of
// a cluster have the same ids, so they number them alike. Pure.
#pragma once

#include "common/ids.h"
#include "consensus/step/configuration.h"
#include "server/device_turn/view.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace gcoord::server {

class ResidentNames {
 public:
  using Ids = std::array<NodeId, kTurnNodes>;

  // Those with the ids 1, 2 and 3.
  constexpr ResidentNames() : ResidentNames(Ids{NodeId{1}, NodeId{2}, NodeId{3}}) {}

  // Different ones, none of them 0.
  constexpr explicit ResidentNames(Ids ids) : ids_(ids) { std::sort(ids_.begin(), ids_.end()); }

  // 0: no node of the cluster.
  constexpr NodeId number(NodeId id) const {
    for (std::uint32_t k = 0; k < kTurnNodes; ++k) {
      if (ids_[k] == id) {
        return NodeId{k + 1};
      }
    }
    return NodeId{};
  }

  // 0: none.
  constexpr NodeId id(NodeId number) const {
    return number.value >= 1 && number.value <= kTurnNodes ? ids_[number.value - 1] : NodeId{};
  }

  consensus::Configuration with_numbers(consensus::Configuration configuration) const {
    for (NodeId& node : configuration.node) {
      node = number(node);
    }
    return configuration;
  }

  consensus::Configuration with_ids(consensus::Configuration configuration) const {
    for (NodeId& node : configuration.node) {
      node = id(node);
    }
    return configuration;
  }

 private:
  Ids ids_;
};

}  // namespace gcoord::server
