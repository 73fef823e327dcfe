// A node's memory as it is built on the host before it is copied to where the node lies.
//
// Zeroed and divided as ResidentNode divides its own, so an offset means the same in both. Pointers
// in it point into itself: whoever copies it writes those of the node over them (LockStripe). Most
// of it stays untouched, costs nothing and is not copied. Host code, one thread.
#pragma once

#include "common/status.h"
#include "netcore/memory_registry.h"
#include "server/resident_node.h"

#include <cstddef>

namespace gcoord::server {

class ResidentImage {
 public:
  ResidentImage(const ResidentNodeOptions& options, std::size_t bytes);
  ~ResidentImage();
  ResidentImage(const ResidentImage&) = delete;
  ResidentImage& operator=(const ResidentImage&) = delete;

  const ResidentView& view() const { return view_; }

  // Writes what is not zero to memory of zeros.
  Status copy_to(netcore::MemorySource& source, std::byte* to) const;

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_;
  ResidentView view_;
};

}  // namespace gcoord::server
