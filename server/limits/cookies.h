// Cookies of proposals of limits. One thread.
#pragma once

#include "server/interfaces/proposal_cookies.h"

#include <cstdint>

namespace gcoord::server {

enum class LimitsProposer : std::uint8_t { Requests = 0, Prunes = 1 };

using LimitsCookies = ProposalCookies<CookieOwner::Limits, LimitsProposer, 2>;

}  // namespace gcoord::server
