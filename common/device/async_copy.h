// Copies 16 bytes into shared memory without waiting for them, where the device has that.
//
// Why: a thread that asks long before it needs them neither waits nor keeps registers for them; a
// prefetch only brings them as near as the second-level cache. On a host the copy is done at once.
// Contract: both addresses are multiples of 16, `to` in shared memory on a device. The bytes are
// there for the thread that asked once it has called await_copies(); what is written to `from`
// meanwhile may be copied or not. Host and device.
#pragma once

#include "common/hd.h"

#include <cstring>

namespace gcoord {

GCOORD_HD inline void copy_16_ahead(void* to, const void* from) {
#if defined(__CUDA_ARCH__)
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" : : "r"(shared), "l"(from) : "memory");
#else
  std::memcpy(to, from, 16);
#endif
}

// All copies that this thread has asked for are done.
GCOORD_HD inline void await_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

}  // namespace gcoord
