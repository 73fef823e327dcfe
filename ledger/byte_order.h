// Integers as they lie on disk: little-endian, at any alignment.
//
// Fields of the log and of the identity file are packed, so their addresses are odd as often as
// not; memcpy is one instruction here and defined everywhere, which a cast would not be. Both ends
// of this file format are the processors gcoord runs on, which are little-endian; a port to another
// kind adds the swap here. Callers have checked that the bytes are there.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace gcoord::ledger {

static_assert(std::endian::native == std::endian::little);

template <typename T>
T load(const std::byte* at) {
  static_assert(std::is_unsigned_v<T>);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Returns the place after the integer.
template <typename T>
std::byte* store(std::byte* at, T value) {
  static_assert(std::is_unsigned_v<T>);
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

}  // namespace gcoord::ledger
