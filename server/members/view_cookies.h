// Cookies of proposals of views, by the part of a node that proposes. One thread.
#pragma once

#include "server/interfaces/proposal_cookies.h"

#include <cstdint>

namespace gcoord::server {

enum class ViewProposer : std::uint8_t {
  Requests = 0,  // view_requests.h
  Keeper = 1,    // view_keeper.h
  Changes = 2,   // member_changes.h
  Upkeep = 3,    // upkeep.h
};

using ViewCookies = ProposalCookies<CookieOwner::View, ViewProposer, 4>;

}  // namespace gcoord::server
