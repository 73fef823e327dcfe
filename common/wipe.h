// Overwriting of secrets in memory, so that what is freed or reused shows none of them.
//
// Host only. Any thread, on bytes that are its own.
#pragma once

#include <string.h>  // explicit_bzero is not in std.

#include <cstddef>
#include <span>

namespace gcoord {

/// Overwrites bytes that held a secret, in a way that no compiler leaves out. An empty span may be
/// without memory: it is left alone, as the C library forbids a null pointer even for no bytes.
inline void wipe(std::span<std::byte> bytes) {
  if (!bytes.empty()) {
    ::explicit_bzero(bytes.data(), bytes.size());
  }
}

}  // namespace gcoord
