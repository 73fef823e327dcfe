// Hint to the compiler that an object lies in shared memory.
//
// What is passed to a function of its own by address has lost the space that it lies in: every
// access then goes by a generic address of 64 bits and asks which space that is. Contract: on a
// device the object lies in the caller's shared memory, or what is read and written is another
// one; on a host nothing is said. Source: CUDA C++ Programming Guide, section "Address Space
// Conversion Functions".
#pragma once

#include "common/hd.h"

#include <cstddef>

namespace gcoord {

template <typename T>
GCOORD_HD_FLAT T& in_shared(T& object) {
#if defined(__CUDA_ARCH__)
  // By an instruction that the compiler does not look into: it would find that this changes
  // nothing.
  std::size_t offset = 0;
  asm("cvta.to.shared.u64 %0, %1;" : "=l"(offset) : "l"(&object));
  return *static_cast<T*>(__cvta_shared_to_generic(offset));
#else
  return object;
#endif
}

}  // namespace gcoord
