// The pool of wide rows of a resident node: memory of its own, which grows while the node rests.
//
// Why: nearly all rows are packed (packed_row.h), and a place for each would be three quarters of
// the node's memory. The device counts the places that are taken, and where few are left the node
// leaves its kernel (count_places); its host gives it a larger pool and starts it again
// (ResidentNode::go_on). Between the word and the last turn every stripe may still make all the
// rows wide that it has under way, so so many places are kept. A row that finds none all the same
// stops the node, as ever. docs/adr/0060.
// Contract: nothing runs on the node. Host code, one thread.
#pragma once

#include "common/status.h"
#include "consensus/device/packed_table.h"
#include "netcore/memory/registry.h"
#include "server/device_turn/view.h"

#include <cstdint>

namespace gcoord::server {

// Places of the first pool of a node of this shape: one row in sixteen, and room for the turns that
// are under way when it asks for more.
std::uint32_t first_wide_places(const TurnShape& shape);

// From how many taken places on a node of this shape asks for more; 0: every row has one.
std::uint32_t wide_ask_from(const TurnShape& shape, const consensus::PackedTable& table);

class ResidentPool {
 public:
  explicit ResidentPool(netcore::MemoryRegistry& registry) : registry_(registry) {}

  // Gives `table` a pool of so many places, all free. ResourceExhausted without memory.
  Status open(consensus::PackedTable& table, std::uint32_t places);

  // The same with what the rows of `image` take of its pool, and twice that; rows there are named
  // their new places. Returns how many are taken.
  Result<std::uint32_t> take_over(consensus::PackedTable& table,
                                  const consensus::PackedTable& image);

  // Replaces the table's pool by one of four times as many places, at most one for each row. Every
  // row keeps its place. kDeviceExhausted without memory: the node must stop.
  Status grow(consensus::PackedTable& table);

 private:
  netcore::MemoryRegistry& registry_;
  netcore::MemoryRange range_;
};

}  // namespace gcoord::server
