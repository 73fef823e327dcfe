// gcoordctl member promote, remove, drain, undrain, move-leaders: a node on its way. One thread.
#pragma once

#include "cli/member/wait.h"
#include "cli/terminal/change_flags.h"
#include "cli/terminal/output.h"
#include "gcoord/client.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

class Context;

// What all changes take.
struct MemberChangeFlags {
  std::string node;  // By id or name.
  ChangeFlags base;  // Its epoch is that of the view.
  bool force = false;
  bool wait = false;

  bool waits() const { return wait && !base.dry_run; }
};

// --view, as the help of all these verbs names it.
inline constexpr EpochWords kViewWords{
    .flag = "--view,--epoch", .value = "VIEW", .of = "epoch of the view"};

client::MemberChange change_of(client::MemberAction action,
                               std::uint32_t node_id,
                               const MemberChangeFlags& flags);

// {"view": "4", "node": 2, ..., "before": {...}, "after": {...}, "moves": {...}}.
Json changed_json(const client::ChangedMember& changed);

// That JSON, and for people what it says of votes and shards: how many votes may fail, and of a dry
// run what would move.
ChangeResult change_result(const client::ChangedMember& changed, bool dry_run);

// Lines for people about a view that works and is a trap: one node's votes alone are a majority;
// nobody is left to whom leaderships would be handed over.
std::vector<std::string> warnings_of(const client::MembershipView& view);

int promote_member(Context& context, const MemberChangeFlags& flags);
int remove_member(Context& context, const MemberChangeFlags& flags);
int drain_member(Context& context, const MemberChangeFlags& flags);
int undrain_member(Context& context, const MemberChangeFlags& flags);
int move_leaders(Context& context, const MemberChangeFlags& flags);

}  // namespace gcoord::cli
