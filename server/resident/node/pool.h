// The pool of wide rows of a resident node: memory of its own, which grows while the node rests.
//
// Why: nearly all rows are packed (packed_row.h), and a place for each would be three quarters of
// the node's memory. The device counts the places that are taken, and where few are left the node
// leaves its kernel (count_places); its host gives it a larger pool and starts it again
// (ResidentNode::go_on). Between the word and the last turn every stripe may still make all the
// rows wide that it has under way, so so many places are kept. A row that finds none all the same
// stops the node, as ever. Once few places of a larger pool are taken, the host gives the memory
// back (NodePools::shrink_wide). docs/adr/0060.
// Contract: nothing runs on the node. Host code, one thread.
#pragma once

#include "common/status.h"
#include "consensus/device/packed_table.h"
#include "netcore/memory/registry.h"
#include "server/device_turn/view.h"

#include <cstdint>
#include <utility>

namespace gcoord::server {

// Places of the first pool of a node of this shape: one row in sixteen, and room for the turns that
// are under way when it asks for more.
std::uint32_t first_wide_places(const TurnShape& shape);

// From how many taken places on a node of this shape asks for more; 0: every row has one.
std::uint32_t wide_ask_from(const TurnShape& shape, const consensus::PackedTable& table);

// Places of the pool that a node should have in place of the table's, of which so many are taken,
// when it began with those of `shape`; 0: it keeps it. A fraction of it at most, so that a pool
// does not go up and down, and never so few that the node would ask for more soon. One that is too
// large to pass through the host while peers wait is kept.
std::uint32_t shrunk_places(const TurnShape& shape,
                            const consensus::PackedTable& table,
                            std::uint32_t taken);

// Patience before a pool is made smaller: the turn rests for it, and a burst of elections is often
// followed by another; so two looks in a row, a minute apart, have to find that it is too large.
class ShrinkPace {
 public:
  static constexpr std::uint64_t kBetweenMs = 60'000;

  // Whether it is time to look: then found() follows.
  bool is_due(std::uint64_t now_ms) {
    const bool due = now_ms >= next_ms_;
    next_ms_ = due ? now_ms + kBetweenMs : next_ms_;
    return due;
  }

  // The look found that the pool should have so many places, 0 for those that it has. The number to
  // give it now; 0: not yet.
  std::uint32_t found(std::uint32_t places) {
    const std::uint32_t before = std::exchange(found_, places);
    if (before == 0 || places == 0) {
      return 0;
    }
    return std::exchange(found_, 0);
  }

 private:
  std::uint64_t next_ms_ = 0;
  std::uint32_t found_ = 0;
};

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

  // How many places are taken, as the table says; the node may run. Failures: the memory's.
  Result<std::uint32_t> taken(const consensus::PackedTable& table) const;

  // Replaces the table's pool by one of so many places, more than are taken. Rows move, and are
  // named their new places; how many those are. Internal, with kDeviceFailed: the table names
  // places that it does not have, or one twice. After any failure the node must stop.
  Result<std::uint32_t> shrink(consensus::PackedTable& table, std::uint32_t places);

 private:
  struct Move {
    const consensus::PackedTable& from;  // Images of the host, both.
    const consensus::PackedTable& to;
  };

  Result<std::uint32_t> move_rows(const Move& move, std::uint32_t first, std::uint32_t count);

  netcore::MemoryRegistry& registry_;
  netcore::MemoryRange range_;
};

}  // namespace gcoord::server
