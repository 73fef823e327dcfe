// gcoordctl member add and replace: a node is invited, or takes another's place. One thread.
#pragma once

#include "cli/member/change.h"
#include "common/status.h"
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

// Of `replace OLD NEW`: the joining node that NEW names; 0: NEW is the name of a node to invite.
// GC6616 for a node that does not join, GC6612 for one that has left, GC6611 for a number that is
// no node's.
Result<std::uint32_t> successor_of(const client::MembershipView& view, const std::string& text);

int add_member(Context& context, const MemberAddFlags& flags);
int replace_member(Context& context, const MemberAddFlags& flags);

}  // namespace gcoord::cli
