// Cookies of proposals of access control, by the part of a node that proposes. One thread.
#pragma once

#include "server/interfaces/proposal_cookies.h"

#include <cstdint>

namespace gcoord::server {

enum class AccessProposer : std::uint8_t {
  Requests = 0,  // requests.h
  Recovery = 1,  // recovery.h
  First = 2,     // first_rights.h
};

using AccessCookies = ProposalCookies<CookieOwner::Access, AccessProposer, 3>;

}  // namespace gcoord::server
