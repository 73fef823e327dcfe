// Cookies of the proposals of one owner (cookie_marks.h), so that each of its parts knows its own:
// the owner's mark, a number, and whose it is in the last bits. One thread.
#pragma once

#include "server/interfaces/cookie_marks.h"

#include <cstdint>

namespace gcoord::server {

// Proposer: an enum of the owner's parts, below `kProposers`.
template <CookieOwner kOwner, typename Proposer, std::uint32_t kProposers>
class ProposalCookies {
 public:
  explicit ProposalCookies(Proposer whose) : whose_(whose) {}

  std::uint64_t next() {
    number_ = (number_ + 1) % kNumbers;
    return cookie_of(kOwner, number_ * kProposers + static_cast<std::uint32_t>(whose_));
  }

 private:
  static constexpr std::uint64_t kSpace =
      std::uint64_t{~cookie_mark(kOwner).mask & 0xffff'ffffu} + 1;
  static constexpr auto kNumbers = static_cast<std::uint32_t>(kSpace / kProposers);
  static_assert(kNumbers >= 1u << 20, "far more than are under way");

  Proposer whose_;
  std::uint32_t number_ = 0;
};

}  // namespace gcoord::server
