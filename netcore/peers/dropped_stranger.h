// Report of a link to this node that was dropped before it was a peer's.
//
// Whoever reaches the port causes them: who logs them bounds how many.
#pragma once

#include "netcore/channel/drop_reason.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::netcore {

struct DroppedStranger {
  std::string_view address;  // As the transport says it, for people; valid in the call.
  DropReason reason = DropReason::None;
  std::string text;          // Cause, number and remedy.
  std::uint64_t now_ms = 0;  // Of the network's clock.
};

// Words for a stranger that broke the protocol, or did not greet.
std::string stranger_text(DropReason reason);

// Words for the other end of a link whose certificate a revocation list has.
std::string revoked_text();

}  // namespace gcoord::netcore
