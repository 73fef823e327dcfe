// The session that a verb is about, which lives apart from this program. One thread.
#pragma once

#include "cli/terminal/command.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::cli {

// What is known of it. When no node knows it GC6008 was printed, for session 0 GC1108, and
// context.exit_code() says what to return. One that has no home is looked for on all nodes, which
// renews it. Nodes that cannot show sessions are believed to know it: their own answer to what the
// verb asks follows; the TTL is 0 then.
std::optional<client::SessionDescription> living_session(Context& context,
                                                         client::Client& client,
                                                         std::uint64_t session_id);

// A hold of such a session.
struct HoldElsewhere {
  std::string name;
  std::uint64_t session = 0;
  std::uint64_t token = 0;
};

// Releases it. The status of the release, where it succeeded or `is_over` accepts the failure: then
// there was nothing to release any more. None: the failure was printed, and context.exit_code()
// says what to return.
std::optional<client::Status> release_elsewhere(Context& context,
                                                const HoldElsewhere& hold,
                                                bool (*is_over)(const client::Status&));

}  // namespace gcoord::cli
