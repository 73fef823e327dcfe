// Waiting for a change of members to come about, with how far it is. One thread.
//
// On a terminal a bar that is drawn again and again on stderr, otherwise a line on stderr whenever
// something has changed. A signal ends the waiting, never the change.
#pragma once

#include "gcoord/client.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace gcoord::cli {

class Context;

// What is waited for.
enum class MemberGoal : std::uint8_t {
  Joined,   // Somebody has come with the token, and all shards have their logs there.
  Active,   // It is active, and all shards have the nodes that the view wants.
  Gone,     // It has left.
  Drained,  // It leads nothing.
};

using Deadline = std::chrono::system_clock::time_point;

struct MemberWait {
  std::uint32_t node_id = 0;
  MemberGoal goal = MemberGoal::Active;
  std::uint32_t replaces = 0;                // Active: the node that is to have left, too; 0: none.
  Deadline invited_until = Deadline::max();  // Who has not come until then, never comes.
};

// What the view and the progress show. Drained: as far as these say.
enum class MemberOutlook : std::uint8_t {
  Open,
  Reached,
  Left,  // The node has left or leaves, which was not the goal.
};

MemberOutlook outlook_of(const MemberWait& wait,
                         const client::MembershipView& view,
                         const client::MemberProgress& progress);

// Whether the node is still invited, and nobody joins with its token any more.
bool is_late(const MemberWait& wait, const client::MembershipView& view, Deadline now);

// "[####----] 12 of 64 shards, node 4 joining".
std::string progress_line(const MemberWait& wait,
                          const client::MemberProgress& progress,
                          const std::string& state);

// The program's exit code: 0 when the goal is reached, 5 when a signal came first, and that of a
// failure which does not pass by itself, or of GC6612 or GC6634 when the goal cannot be reached any
// more; all but the first are printed.
int await_member(Context& context, client::Client& client, const MemberWait& wait);

}  // namespace gcoord::cli
