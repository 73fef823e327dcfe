// Zeroed memory of the host in which something is built before it is copied to where it lies.
//
// Most of it stays untouched, costs nothing and is not copied. Host code, one thread.
#pragma once

#include "common/status.h"
#include "netcore/memory/registry.h"

#include <cstddef>

namespace gcoord::server {

class HostImage {
 public:
  // `bytes` is not 0.
  explicit HostImage(std::size_t bytes);
  ~HostImage();
  HostImage(const HostImage&) = delete;
  HostImage& operator=(const HostImage&) = delete;

  // In no registry; for RangeArena.
  netcore::MemoryRange range() const;

  // Writes what is not zero to memory of zeros.
  Status copy_to(netcore::MemorySource& source, std::byte* to) const;

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_;
};

}  // namespace gcoord::server
