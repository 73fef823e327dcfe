// The nodes of a cluster by the numbers that rows on devices know them by.
//
// A row names its voters 1 to 3, or as many as there are, in the order of their ids, and so does
// all that travels between devices: a word says who leads in two or three bits (leader_table.h),
// and the place of a node in a row follows from its number. Ids are any. They become numbers where
// something goes to a device, and ids again where it is told to a host; storage, services and
// operators know ids. All nodes of a cluster have the same ids, so they number them alike. Pure.
#pragma once

#include "common/assert.h"
#include "common/ids.h"
#include "consensus/step/configuration.h"
#include "server/device_turn/voters.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::server {

class ResidentNames {
 public:
  using Ids = std::array<NodeId, kTurnNodes>;

  // Those with the ids 1, 2 and 3.
  constexpr ResidentNames() : ResidentNames(Ids{NodeId{1}, NodeId{2}, NodeId{3}}) {}

  // Different ones, none of them 0.
  constexpr explicit ResidentNames(const Ids& ids) : ResidentNames(std::span<const NodeId>(ids)) {}

  // As many as there are nodes; a turn has them (has_turn_of).
  constexpr explicit ResidentNames(std::span<const NodeId> ids)
      : count_(static_cast<std::uint32_t>(ids.size())) {
    GCOORD_ASSERT(has_turn_of(ids.size()));
    std::copy(ids.begin(), ids.end(), ids_.begin());
    std::sort(ids_.begin(), ids_.begin() + count_);
  }

  // Nodes of the cluster.
  constexpr std::uint32_t count() const { return count_; }

  // 0: no node of the cluster.
  constexpr NodeId number(NodeId id) const {
    for (std::uint32_t k = 0; k < count_; ++k) {
      if (ids_[k] == id) {
        return NodeId{k + 1};
      }
    }
    return NodeId{};
  }

  // 0: none.
  constexpr NodeId id(NodeId number) const {
    return number.value >= 1 && number.value <= count_ ? ids_[number.value - 1] : NodeId{};
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
  std::array<NodeId, kTurnNodesMax> ids_{};
  std::uint32_t count_ = 0;
};

}  // namespace gcoord::server
