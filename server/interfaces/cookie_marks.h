// Marks of the services that stand before the lock service, in the cookies of their proposals.
//
// Each machine takes the outcomes of its own proposals and passes all others on, so no two may have
// a cookie in common. A mark is some of the highest bits of a cookie's lower half; below them its
// owner numbers. Cookies of the lock service have the highest of these bits clear. Constants.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gcoord::server {

enum class CookieOwner : std::uint8_t { View, Access, Limits, Notes, Publication };

struct CookieMark {
  std::uint64_t bits = 0;
  std::uint64_t mask = 0;
};

// By owner. A new one takes bits that are free: 0xf800'0000 under the mask 0xfc00'0000 is.
inline constexpr std::array<CookieMark, 5> kCookieMarks = {{
    {.bits = 0x8000'0000, .mask = 0xc000'0000},
    {.bits = 0xc000'0000, .mask = 0xe000'0000},
    {.bits = 0xe000'0000, .mask = 0xf000'0000},
    {.bits = 0xf000'0000, .mask = 0xf800'0000},
    {.bits = ~std::uint64_t{0}, .mask = ~std::uint64_t{0}},  // One cookie for all proposals.
}};

constexpr const CookieMark& cookie_mark(CookieOwner owner) {
  return kCookieMarks[static_cast<std::size_t>(owner)];
}

constexpr bool is_cookie_of(CookieOwner owner, std::uint64_t cookie) {
  return (cookie & cookie_mark(owner).mask) == cookie_mark(owner).bits;
}

// The owner's cookie of this number, of which the bits below its mark count.
constexpr std::uint64_t cookie_of(CookieOwner owner, std::uint64_t number) {
  const CookieMark& mark = cookie_mark(owner);
  return mark.bits | (number & ~mark.mask & 0xffff'ffffu);
}

constexpr bool cookie_marks_are_apart() {
  constexpr std::uint64_t kLockService = 0x8000'0000;  // Clear in its cookies.
  for (std::size_t a = 0; a < kCookieMarks.size(); ++a) {
    const CookieMark& one = kCookieMarks[a];
    if ((one.bits & ~one.mask) != 0 || (one.bits & one.mask & kLockService) == 0) {
      return false;
    }
    for (std::size_t b = a + 1; b < kCookieMarks.size(); ++b) {
      const CookieMark& other = kCookieMarks[b];
      if (((one.bits ^ other.bits) & one.mask & other.mask) == 0) {
        return false;
      }
    }
  }
  return true;
}

static_assert(cookie_marks_are_apart());

}  // namespace gcoord::server
