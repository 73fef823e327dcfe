// Copies objects as the words that they lie in.
//
// A compiler that sees two addresses and a size believes in no alignment and copies byte by byte:
// 64 loads, shifts and stores for a slot where four of each do. Contract: the address that is given
// is a multiple of kAlignment, which is the type's own unless more is known; types are trivially
// copyable. Host and device.
#pragma once

#include "common/hd.h"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace gcoord {

template <std::size_t kAlignment, typename T>
GCOORD_HD void store_aligned(void* to, const T& object) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(__builtin_assume_aligned(to, kAlignment), &object, sizeof object);
}

template <typename T, std::size_t kAlignment = alignof(T)>
GCOORD_HD T load_aligned(const void* from) {
  static_assert(std::is_trivially_copyable_v<T>);
  T object;
  std::memcpy(
      static_cast<void*>(&object), __builtin_assume_aligned(from, kAlignment), sizeof object);
  return object;
}

}  // namespace gcoord
