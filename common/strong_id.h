// Integers that cannot be mixed up: two ids of one width never share a type.
//
// A StrongId holds an unsigned integer and offers comparison, and stepping by a plain count. It has
// no implicit conversion in either direction: `.value` is the one way out. Trivially copyable; host
// and device.
#pragma once

#include "common/hd.h"

#include <cstdint>
#include <functional>
#include <type_traits>

namespace gcoord {

template <typename Tag, typename Rep>
struct StrongId {
  static_assert(std::is_unsigned_v<Rep>);
  using rep = Rep;

  Rep value = 0;

  constexpr StrongId() = default;

  GCOORD_HD constexpr explicit StrongId(Rep initial) : value(initial) {}

  // Written out because nvcc warns on a defaulted three-way comparison used on a device.
  GCOORD_HD friend constexpr bool operator==(StrongId a, StrongId b) { return a.value == b.value; }

  GCOORD_HD friend constexpr bool operator!=(StrongId a, StrongId b) { return a.value != b.value; }

  GCOORD_HD friend constexpr bool operator<(StrongId a, StrongId b) { return a.value < b.value; }

  GCOORD_HD friend constexpr bool operator<=(StrongId a, StrongId b) { return a.value <= b.value; }

  GCOORD_HD friend constexpr bool operator>(StrongId a, StrongId b) { return a.value > b.value; }

  GCOORD_HD friend constexpr bool operator>=(StrongId a, StrongId b) { return a.value >= b.value; }

  // Moves by a count; wraps like the representation does, so callers assert their ranges.
  GCOORD_HD friend constexpr StrongId operator+(StrongId a, Rep count) {
    return StrongId{static_cast<Rep>(a.value + count)};
  }

  GCOORD_HD friend constexpr StrongId operator-(StrongId a, Rep count) {
    return StrongId{static_cast<Rep>(a.value - count)};
  }

  // Distance between two ids; the caller knows that a >= b.
  GCOORD_HD friend constexpr Rep operator-(StrongId a, StrongId b) {
    return static_cast<Rep>(a.value - b.value);
  }

  GCOORD_HD constexpr StrongId& operator++() {
    ++value;
    return *this;
  }
};

// The smaller and the larger of two ids; std::min is not callable from device code.
template <typename Tag, typename Rep>
GCOORD_HD constexpr StrongId<Tag, Rep> min_id(StrongId<Tag, Rep> a, StrongId<Tag, Rep> b) {
  return a < b ? a : b;
}

template <typename Tag, typename Rep>
GCOORD_HD constexpr StrongId<Tag, Rep> max_id(StrongId<Tag, Rep> a, StrongId<Tag, Rep> b) {
  return a < b ? b : a;
}

}  // namespace gcoord

template <typename Tag, typename Rep>
struct std::hash<gcoord::StrongId<Tag, Rep>> {
  std::size_t operator()(gcoord::StrongId<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
