// The pools of a resident node that grow and shrink while its turn rests: wide rows and log pages.
//
// Both begin small, because a row at rest is packed and has no log page; the device asks for more
// by leaving (asks_for_room), and the host looks about once a minute whether they are too large
// (ShrinkPace). A node goes on without more log pages where there is no memory for them: what finds
// none is refused (pages.h). Contract: nothing runs on the node but where it is said. Host code,
// one thread.
#pragma once

#include "common/status.h"
#include "netcore/memory/registry.h"
#include "server/device_turn/page_pool.h"
#include "server/resident/node/pool.h"
#include "server/resident/node/resident_view.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::server {

// Log pages of a stripe: at the beginning, which is also what a pool of them shrinks to, and at
// most.
struct PageLimits {
  std::uint32_t first = 0;  // 0: as the shape says (first_stripe_pages).
  std::uint32_t most = 0;   // 0: one for each row.
};

class NodePools {
 public:
  // The view is the node's, whose pointers change when a pool does. Both outlive this.
  NodePools(netcore::MemoryRegistry& registry, ResidentView& view);

  // Once: pools of shape.wide_count places, and of log pages. ResourceExhausted without memory.
  Status open(const PageLimits& limits);

  // Takes over what the rows of an image of the host hold, whose rows are brought up to date; how
  // many wide ones there are.
  Result<std::uint32_t> take_over(const ResidentView& image);

  // Larger pools where few places are left. Without memory for more log pages the node keeps those
  // that it has, and does not ask for more until the next call. kDeviceExhausted: none for wide
  // rows.
  Status make_room();

  // The number of places that the pool of wide rows should have in place of those it has; 0: it may
  // stay as it is. The node may run. Failures: the memory's.
  Result<std::uint32_t> wide_to_shrink() const;

  // The same of the log pages of each stripe.
  Result<std::uint32_t> pages_to_shrink() const;

  // Gives it so many, or twice those that are taken where that is more and still fewer than it has.
  // Failures end the node.
  Status shrink_wide(std::uint32_t places);
  Status shrink_pages(std::uint32_t stripe_pages);

  // Whether there was no memory for more log pages, so that the node does not ask for them.
  bool gave_up_growth() const {
    return view_.pages.grows == 0 && view_.pages.stripe_pages < limits_.most;
  }

  // The node may run. Failures: the memory's.
  Result<PageCounts> page_counts() const { return pages_.counts(view_); }

  // Bytes of the device by shard while nothing happens in any, as the memory is divided now: rows,
  // both pools, and what the lock service has of each shard. Lock tables and channels are apart.
  std::size_t idle_shard_bytes() const;

 private:
  // Whether the device may ask for log pages.
  void let_ask(bool there_is_memory);
  Status grow_pages();

  netcore::MemoryRegistry& registry_;
  ResidentView& view_;
  ResidentPool wide_;
  PagePool<LockTurnService> pages_;
  PageLimits limits_;  // Of the stripes as they are.
};

}  // namespace gcoord::server
