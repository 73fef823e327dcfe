// Group of cooperating threads as a template parameter: a warp (one thread on the host), or a
// single thread.
//
// Code that is written for a group calls common/device/warp_device.h, whose functions all lanes of
// a warp call together. What also makes sense for a single thread of a kernel, whose neighbours are
// elsewhere, takes one of these types and calls nothing else that needs the neighbours. On the host
// both are the same. Host and device; stateless.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord {

// All lanes of a warp, converged.
struct WarpMembers {
  GCOORD_HD static std::uint32_t lanes() { return warp_lanes(); }

  GCOORD_HD static std::uint32_t rank() { return warp_rank(); }

  GCOORD_HD static void sync() { warp_sync(); }

  GCOORD_HD static std::uint32_t ballot(bool answer) { return warp_ballot(answer); }

  GCOORD_HD static std::uint32_t broadcast(std::uint32_t value, std::uint32_t from) {
    return warp_broadcast(value, from);
  }

  GCOORD_HD static std::uint64_t broadcast(std::uint64_t value, std::uint32_t from) {
    return warp_broadcast(value, from);
  }
};

// One thread, wherever the others of its warp are.
struct OneMember {
  GCOORD_HD static constexpr std::uint32_t lanes() { return 1; }

  GCOORD_HD static constexpr std::uint32_t rank() { return 0; }

  GCOORD_HD static constexpr void sync() {}

  GCOORD_HD static constexpr std::uint32_t ballot(bool answer) { return answer ? 1 : 0; }

  GCOORD_HD static constexpr std::uint32_t broadcast(std::uint32_t value, std::uint32_t /*from*/) {
    return value;
  }

  GCOORD_HD static constexpr std::uint64_t broadcast(std::uint64_t value, std::uint32_t /*from*/) {
    return value;
  }
};

}  // namespace gcoord
