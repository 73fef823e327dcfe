// gcoordctl member add and replace: a node is invited, or takes another's place. One thread.
#pragma once

#include "cli/member/change.h"
#include "gcoord/client.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

class Context;

struct MemberAddFlags {
  MemberChangeFlags change;  // `node`: of replace, the one to replace.
  std::string name;          // Of replace: the new one's, or the id or name of one that joins.
  std::vector<std::string> labels;
  std::string token_ttl = "1h";
  std::optional<std::uint32_t> weight;
  bool learner = false;       // Not promoted by itself.
  bool auto_promote = false;  // The default, said aloud.
  bool observer = false;
  bool witness = false;
};

int add_member(Context& context, const MemberAddFlags& flags);
int replace_member(Context& context, const MemberAddFlags& flags);

}  // namespace gcoord::cli
