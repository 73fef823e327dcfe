// gcoordctl member watch: one line for each new view, until a signal ends it. One thread.
#pragma once

#include <cstdint>
#include <optional>

namespace gcoord::cli {

class Context;

struct MemberWatchFlags {
  std::optional<std::uint64_t> after;  // Begin behind this view; none: with the newest.
  std::uint64_t count = 0;             // End after so many; 0: never.
};

int watch_members(Context& context, const MemberWatchFlags& flags);

}  // namespace gcoord::cli
