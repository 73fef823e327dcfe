// Cookies of proposals of access control: a mark in the lower half, which no other service's has
// (view_machine.h, publication_service.h), a number, and whose it is in the last bit. One thread.
#pragma once

#include <cstdint>

namespace gcoord::server {

inline constexpr std::uint64_t kAccessCookie = 0xc000'0000;

constexpr bool is_access_cookie(std::uint64_t cookie) {
  return (cookie & 0xe000'0000) == kAccessCookie;
}

enum class AccessProposer : std::uint8_t {
  Requests = 0,  // requests.h
  Recovery = 1,  // recovery.h
};

class AccessCookies {
 public:
  explicit AccessCookies(AccessProposer whose) : whose_(whose) {}

  std::uint64_t next() {
    number_ = (number_ + 1) % kNumbers;
    return kAccessCookie | (number_ * 2u + static_cast<std::uint32_t>(whose_));
  }

 private:
  static constexpr std::uint32_t kNumbers = 1u << 28;

  AccessProposer whose_;
  std::uint32_t number_ = 0;
};

}  // namespace gcoord::server
