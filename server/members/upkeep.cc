#include "server/members/upkeep.h"

#include "server/members/change_rules.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

namespace {

using membership::Member;
using membership::MemberState;
using membership::ViewCode;
using membership::ViewCommand;
using membership::ViewCommandKind;

constexpr std::uint64_t kLookMs = 100;

bool is_marked(const Member& node, bool suspect) {
  return node.state == MemberState::Removed || node.invitation || node.suspect == suspect;
}

// Dead ones first: one that has gone says no newer epoch any more, so of the nodes that are left
// enough have to live for the views to be left.
std::vector<Member>::const_iterator next_leaver(const std::vector<Member>& nodes,
                                                const std::vector<NodeId>& live) {
  const auto dead = std::ranges::find_if(nodes, [&live](const Member& node) {
    return node.state == MemberState::Leaving && std::ranges::find(live, node.id) == live.end();
  });
  return dead != nodes.end() ? dead
                             : std::ranges::find(nodes, MemberState::Leaving, &Member::state);
}

}  // namespace

void MembersUpkeep::propose_suspect(NodeId node, bool suspect) {
  if (protocol::find_member(environment_.machine.views().view(), node) != nullptr) {
    suspects_.insert_or_assign(node, suspect);
    next_ms_ = 0;
  }
}

void MembersUpkeep::advance(std::uint64_t now_ms) {
  if (now_ms < next_ms_) {
    return;
  }
  next_ms_ = now_ms + kLookMs;
  const membership::ViewCpu& state = environment_.machine.views();
  const bool leads = environment_.log.view(kViewShard).role == consensus::Role::Leader;
  if (!leads || state.is_empty()) {
    ready_since_ms_ = settled_since_ms_ = 0;
    suspects_.clear();
    return;
  }
  if (cookie_ == 0 && lacking_members(state, environment_.has).value == 0) {
    const bool marks = environment_.keeper.may_propose() && mark_suspects();
    if (!marks) {
      finish_moves(now_ms);
    }
  }
}

// One by one while a node is of a release that cannot read a command about several.
bool MembersUpkeep::mark_suspects() {
  const membership::ClusterView& view = environment_.machine.views().view();
  const bool together =
      first_lacking(view, protocol::Feature::MemberMarks, environment_.has).value == 0;
  membership::MemberStep step;
  while (!suspects_.empty() && (together || step.marks.empty())) {
    const auto [id, suspect] = *suspects_.begin();
    suspects_.erase(suspects_.begin());
    const Member* const node = protocol::find_member(view, id);
    if (node != nullptr && !is_marked(*node, suspect)) {
      step.marks.push_back({id, suspect});
    }
  }
  if (step.marks.empty()) {
    return false;
  }
  step.time_ms = environment_.wall_ms();
  if (step.marks.size() > 1) {
    return propose(ViewCommandKind::Marks, std::move(step));
  }
  step.node = step.marks.front().node;
  step.suspect = step.marks.front().suspect;
  step.marks.clear();
  return propose(ViewCommandKind::Suspect, std::move(step));
}

bool MembersUpkeep::held(bool holds, std::uint64_t& since_ms, std::uint64_t now_ms) const {
  if (!holds) {
    since_ms = 0;
    return false;
  }
  since_ms = since_ms == 0 ? std::max<std::uint64_t>(now_ms, 1) : since_ms;
  return now_ms >= since_ms + kHoldMs;
}

// Other targets begin anew; what changes no target does not.
bool MembersUpkeep::finish_moves(std::uint64_t now_ms) {
  const membership::ClusterView& view = environment_.machine.views().view();
  const auto leaves = next_leaver(view.nodes, live_nodes(environment_.log.view()));
  const bool waits = std::ranges::any_of(
      view.nodes, [](const Member& node) { return node.auto_promote && !node.invitation; });
  if (leaves == view.nodes.end() && !waits) {
    ready_since_ms_ = settled_since_ms_ = 0;
    return false;
  }
  const MembersTargets targets = members_targets(view);
  if (std::exchange(held_for_, targets) != targets) {
    ready_since_ms_ = settled_since_ms_ = 0;
  }
  const protocol::MemberMoves moves =
      moves_of(environment_.log, environment_.machine, environment_.keeper);
  const bool settled = held(all_settled(moves, view.epoch), settled_since_ms_, now_ms);
  const bool ready =
      held(all_ready(moves, view.epoch), ready_since_ms_, now_ms) || others_were_ready(view);
  // Sessions may be renewed by the node's vote as long as somebody goes by an earlier view. Time
  // proves nothing there: where most voters of one are down for good, an operator says so
  // (MemberChanges::ordered).
  const bool left = environment_.followers.settled() == view.epoch;
  if (settled && left && leaves != view.nodes.end()) {
    membership::MemberStep step;
    step.node = leaves->id;
    return propose(ViewCommandKind::Gone, std::move(step));
  }
  return ready && waits && environment_.keeper.may_propose() && promote();
}

// Whether a promotion from here made the view: those that still join were as ready as that node, so
// all that are ready vote in one change of each shard. Another command that came first would have
// refused the promotion.
bool MembersUpkeep::others_were_ready(const membership::ClusterView& view) const {
  const Member* const node = protocol::find_member(view, promoted_.node);
  return view.epoch == promoted_.epoch && node != nullptr && node->state == MemberState::Active;
}

// The first that may become active without a quorum of live nodes being lost.
bool MembersUpkeep::promote() {
  const membership::ViewCpu& state = environment_.machine.views();
  const std::vector<NodeId> live = live_nodes(environment_.log.view());
  const protocol::MemberTolerance before = tolerance_of(state.view(), live);
  for (const Member& node : state.view().nodes) {
    const bool lives = std::ranges::find(live, node.id) != live.end();
    if (!node.auto_promote || node.invitation || !lives) {
      continue;
    }
    ViewCommand command;
    command.kind = ViewCommandKind::Promote;
    command.expected = state.view().epoch;
    command.step.node = node.id;
    membership::ClusterView preview;
    if (state.preview(command, preview) == ViewCode::Applied &&
        check_quorum(before, tolerance_of(preview, live)).ok()) {
      promoted_ = {.epoch = state.view().epoch + 1, .node = node.id};
      return propose(ViewCommandKind::Promote, command.step);
    }
  }
  return false;
}

bool MembersUpkeep::propose(ViewCommandKind kind, membership::MemberStep step) {
  ViewCommand command;
  command.kind = kind;
  command.expected = environment_.machine.views().view().epoch;
  command.step = std::move(step);
  cookie_ = cookies_.next();
  if (kind != ViewCommandKind::Suspect && kind != ViewCommandKind::Marks) {
    ready_since_ms_ = settled_since_ms_ = 0;
  }
  environment_.log.propose(kViewShard,
                           view_record(membership::encode_view_command(command),
                                       protocol::RecordOrigin::System,
                                       environment_.wall_ms()),
                           cookie_);
  return true;
}

}  // namespace gcoord::server
