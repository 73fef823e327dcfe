// Decision whether a principal may make a request.
//
// It looks at the request and at what is granted, and at nothing else: whether a name exists is not
// known here, so a refusal cannot tell it, in its words or in its time. Pure; any thread.
#pragma once

#include "security/roles/authorize.h"
#include "server/rights/demands.h"

#include <optional>
#include <string>
#include <string_view>

namespace gcoord::server {

struct MissingRight {
  security::Right right{};  // Of no meaning with DemandScope::Identified.
  DemandScope scope = DemandScope::Identified;
  std::string_view name;  // Or prefix; of the request, for as long as it and its demands live.
};

// The first thing that is missing; nothing: it may. A kind without rows, which no node serves, may:
// its refusal says so. `identified`: the principal is somebody.
std::optional<MissingRight> missing_right(const RequestDemands& demands,
                                          const security::RightsOf& rights,
                                          bool identified);

// `user ann has no right lock.acquire over "jobs/1"`: for the client and for the node's log.
std::string refusal_text(std::string_view principal, const MissingRight& missing);

}  // namespace gcoord::server
