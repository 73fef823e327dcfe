// The session that a verb is about, which must live. One thread.
#pragma once

#include "cli/terminal/command.h"

#include <cstdint>
#include <optional>

namespace gcoord::cli {

// What is known of it. When no node knows it GC6008 was printed, for session 0 GC1108, and
// context.exit_code() says what to return. One that has no home is looked for on all nodes, which
// renews it. Nodes that cannot show sessions are believed to know it: their own answer to what the
// verb asks follows; the TTL is 0 then.
std::optional<client::SessionDescription> living_session(Context& context,
                                                         client::Client& client,
                                                         std::uint64_t session_id);

}  // namespace gcoord::cli
