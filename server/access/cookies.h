// Cookies of proposals of access control: their mark (cookie_marks.h), a number, and whose it is in
// the last bit. One thread.
#pragma once

#include "server/interfaces/cookie_marks.h"

#include <cstdint>

namespace gcoord::server {

enum class AccessProposer : std::uint8_t {
  Requests = 0,  // requests.h
  Recovery = 1,  // recovery.h
};

class AccessCookies {
 public:
  explicit AccessCookies(AccessProposer whose) : whose_(whose) {}

  std::uint64_t next() {
    number_ = (number_ + 1) % kNumbers;
    return cookie_of(CookieOwner::Access, number_ * 2u + static_cast<std::uint32_t>(whose_));
  }

 private:
  static constexpr std::uint32_t kNumbers = 1u << 28;

  AccessProposer whose_;
  std::uint32_t number_ = 0;
};

}  // namespace gcoord::server
