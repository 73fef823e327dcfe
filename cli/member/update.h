// gcoordctl member update: changes what is said of a node, for one view. One thread.
#pragma once

#include "cli/terminal/change_flags.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

class Context;

struct MemberUpdateFlags {
  std::string node;  // By id or name.
  std::optional<std::string> name;
  std::vector<std::string> labels;      // "zone=a"; "zone=": taken away.
  std::optional<std::uint32_t> weight;  // Without the others.
  ChangeFlags change;                   // Its epoch is that of the view.
};

int update_member(Context& context, const MemberUpdateFlags& flags);

}  // namespace gcoord::cli
