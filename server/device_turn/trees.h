// Exchange between a node's turn and the blocks that hash its log.
//
// The turn says of each row up to where it has applied its log; whoever keeps the node's Merkle
// trees (ledger/trees/follow.h) says up to where a row's tree reaches. Entries between the two
// stay in the log, which is all the journal there is: a row forgets nothing that is not in its
// tree, and while its log is full it takes no more proposals. A snapshot brings no tree, so a row
// that was brought up by one has none from then on.
// Memory orders: both words are published with release and observed with acquire (O1 and O2 of
// docs/internals/memory_order.md), entries before the turn's, looks at entries before the other's;
// of device scope, as log, words and both kernels are on one. One writer for each. POD; host and
// device.
#pragma once

#include "common/hd.h"
#include "common/ids.h"
#include "netcore/memory/order.h"

#include <cstdint>

namespace gcoord::server {

// TurnTrees::decided of a row without a tree.
inline constexpr std::uint64_t kNoTurnTree = ~std::uint64_t{0};

struct TurnTrees {
  std::uint64_t* decided = nullptr;  // By row, the turn's word. Null: nobody hashes.
  std::uint64_t* hashed = nullptr;   // By row, the other's: leaves of its tree.

  GCOORD_HD bool any() const { return decided != nullptr; }

  // --- By the turn, the group of the row

  // Everything up to `applied` may be hashed. After a sync of the group that stored the entries.
  GCOORD_HD void decide(std::uint32_t row, LogIndex applied) const {
    if (decided[row] != applied.value && decided[row] != kNoTurnTree) {
      netcore::DeviceOrder::publish(decided[row], applied.value);
    }
  }

  // The row was brought up by a snapshot.
  GCOORD_HD void lose(std::uint32_t row) const {
    netcore::DeviceOrder::publish(decided[row], kNoTurnTree);
  }

  // No entry up to here is looked at any more.
  GCOORD_HD LogIndex hashed_to(std::uint32_t row) const {
    return decided[row] == kNoTurnTree ? LogIndex{kNoTurnTree}
                                       : LogIndex{netcore::DeviceOrder::observe(hashed[row])};
  }

  // --- By whoever hashes

  GCOORD_HD std::uint64_t decided_to(std::uint32_t row) const {
    return netcore::DeviceOrder::observe(decided[row]);
  }

  // After a sync of the group that looked at the entries.
  GCOORD_HD void hash(std::uint32_t row, std::uint64_t size) const {
    netcore::DeviceOrder::publish(hashed[row], size);
  }
};

}  // namespace gcoord::server
