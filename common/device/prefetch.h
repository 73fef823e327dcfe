// Asks for memory that will be read soon, without waiting for it.
//
// On a device the line travels to the second-level cache while the thread goes on; on a host to the
// first. Why a function: a thread that steps rows one after another knows the next row long before
// it needs it, and nothing else in the language says so. A hint: no effect on results, any address
// is allowed, also one that is never read. Host and device; one call per line (128 bytes on a
// device, 64 on a host).
#pragma once

#include "common/hd.h"

namespace gcoord {

GCOORD_HD inline void prefetch(const void* address) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" : : "l"(address));
#else
  __builtin_prefetch(address);
#endif
}

}  // namespace gcoord
