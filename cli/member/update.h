// gcoordctl member update: changes what is said of a node, for one view. One thread.
#pragma once

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
  std::uint64_t view = 0;
  bool dry_run = false;
  std::string who;
};

int update_member(Context& context, const MemberUpdateFlags& flags);

}  // namespace gcoord::cli
