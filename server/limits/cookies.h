// Cookies of proposals of limits: their mark (cookie_marks.h), and a number. One thread.
#pragma once

#include "server/interfaces/cookie_marks.h"

#include <cstdint>

namespace gcoord::server {

class LimitsCookies {
 public:
  std::uint64_t next() {
    number_ = (number_ + 1) % kNumbers;
    return cookie_of(CookieOwner::Limits, number_);
  }

 private:
  static constexpr std::uint32_t kNumbers = 1u << 28;

  std::uint32_t number_ = 0;
};

}  // namespace gcoord::server
