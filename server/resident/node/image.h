// A node's memory as it is built on the host before it is copied to where the node lies.
//
// Zeroed and divided as ResidentNode divides its own, so an offset means the same in both; but its
// pools have a place for every wide row and a log page for every row (pool.h and page_pool.h take
// over those that are taken; hold_page() takes one).
// Pointers in it point into itself: whoever copies it writes those of the node over them
// (LockStripe). Host code, one thread.
#pragma once

#include "common/status.h"
#include "netcore/memory/registry.h"
#include "server/device_turn/row.h"
#include "server/resident/node/host_image.h"
#include "server/resident/node/node.h"

#include <cstddef>

namespace gcoord::server {

class ResidentImage {
 public:
  // `bytes` of a node without its pools.
  ResidentImage(const ResidentNodeOptions& options, std::size_t bytes);

  const ResidentView& view() const { return view_; }

  // Writes what is not zero to memory of zeros; not the pools.
  Status copy_to(netcore::MemorySource& source, std::byte* to) const {
    return node_.copy_to(source, to);
  }

 private:
  HostImage node_;
  HostImage pool_;
  HostImage pages_;
  ResidentView view_;
};

// Stores all rows of an image as a cluster starts, by the code for its number of voters.
void start_rows(const ResidentView& view, RowMemory memory);

}  // namespace gcoord::server
