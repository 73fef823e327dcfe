// Cookies of proposals of views, so that each part of a node knows its own: the mark that all have
// (cookie_marks.h), a number, and whose it is in the last two bits. One thread.
#pragma once

#include "server/interfaces/cookie_marks.h"

#include <cstdint>

namespace gcoord::server {

enum class ViewProposer : std::uint8_t {
  Requests = 0,  // view_requests.h
  Keeper = 1,    // view_keeper.h
  Changes = 2,   // member_changes.h
  Upkeep = 3,    // upkeep.h
};

class ViewCookies {
 public:
  explicit ViewCookies(ViewProposer whose) : whose_(whose) {}

  std::uint64_t next() {
    number_ = (number_ + 1) % kNumbers;
    return cookie_of(CookieOwner::View, number_ * 4u + static_cast<std::uint32_t>(whose_));
  }

 private:
  static constexpr std::uint32_t kNumbers = 1u << 28;

  ViewProposer whose_;
  std::uint32_t number_ = 0;
};

}  // namespace gcoord::server
