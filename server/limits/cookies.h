// Cookies of proposals of limits: a mark in the lower half, which no other service's has
// (view_machine.h, server/access/cookies.h, server/audit/machine.h), and a number. One thread.
#pragma once

#include <cstdint>

namespace gcoord::server {

inline constexpr std::uint64_t kLimitsCookie = 0xe000'0000;

constexpr bool is_limits_cookie(std::uint64_t cookie) {
  return (cookie & 0xf000'0000) == kLimitsCookie;
}

class LimitsCookies {
 public:
  std::uint64_t next() {
    number_ = (number_ + 1) % kNumbers;
    return kLimitsCookie | number_;
  }

 private:
  static constexpr std::uint32_t kNumbers = 1u << 28;

  std::uint32_t number_ = 0;
};

}  // namespace gcoord::server
