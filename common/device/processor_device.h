// Number of the multiprocessor on which a device thread runs.
//
// For placing resident kernels beside each other: neighbours of two, 2k and 2k + 1, share a cluster
// of texture and instruction caches (TPC). A block stays where it began. Source: PTX ISA 8.8,
// section "Special Registers", %smid. Host and device.
#pragma once

#include "common/hd.h"

#include <cstdint>

namespace gcoord {

// Its number, from 0; on a host there is one.
GCOORD_HD inline std::uint32_t device_processor() {
#if defined(__CUDA_ARCH__)
  std::uint32_t processor = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(processor));
  return processor;
#else
  return 0;
#endif
}

}  // namespace gcoord
