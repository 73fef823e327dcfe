// Proposals that the leader of shard 0 makes by itself for nodes that come and go: a node that has
// caught up becomes active if it was added so, one that has left everywhere is gone, and who is
// held for failed is marked.
//
// One proposal at a time, each of them a view of its own; all nodes that are to be marked, or no
// longer, are in one, if every node of the view has Feature::MemberMarks. What is concluded from
// the counts of all nodes must have been true at every look for kHoldMs, because a shard may be
// counted twice for a moment (member_moves.h). One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "membership/view/command.h"
#include "protocol/hello.h"
#include "server/members/followers.h"
#include "server/members/member_moves.h"
#include "server/members/view_cookies.h"
#include "server/members/view_keeper.h"
#include "server/members/view_machine.h"
#include "server/peers/members_target.h"

#include <cstdint>
#include <functional>
#include <map>

namespace gcoord::server {

class MembersUpkeep {
 public:
  // Longer than what nodes say of themselves takes to be heard twice.
  static constexpr std::uint64_t kHoldMs = 2500;

  // All outlive it.
  struct Environment {
    ReplicatedLog& log;
    const ViewMachine& machine;
    const ViewKeeper& keeper;
    const ViewFollowers& followers;
    std::function<bool(NodeId, protocol::Feature)> has;  // Of any node.
    std::function<std::uint64_t()> wall_ms;
  };

  explicit MembersUpkeep(Environment environment) : environment_(std::move(environment)) {}

  // Once per pass; does nothing for most of the time. `now_ms`: of the node's clock.
  void advance(std::uint64_t now_ms);

  // The detector's word of a node, for when this one leads shard 0. What the view says already, or
  // what no view has, comes to nothing. At most one word per node is kept.
  void propose_suspect(NodeId node, bool suspect);

  // Call of ViewListener that concerns it.
  void on_ended(std::uint64_t cookie) { cookie_ = cookie == cookie_ ? 0 : cookie_; }

 private:
  // The last one that was proposed here, and the view that it makes.
  struct Promotion {
    std::uint64_t epoch = 0;
    NodeId node;
  };

  bool mark_suspects();
  bool finish_moves(std::uint64_t now_ms);
  // Since when the condition holds without a gap is long enough ago.
  bool held(bool holds, std::uint64_t& since_ms, std::uint64_t now_ms) const;
  bool others_were_ready(const membership::ClusterView& view) const;
  bool promote();
  bool propose(membership::ViewCommandKind kind, membership::MemberStep step);

  Environment environment_;
  std::map<NodeId, bool> suspects_;
  std::uint64_t next_ms_ = 0;
  std::uint64_t ready_since_ms_ = 0;    // 0: it does not hold.
  std::uint64_t settled_since_ms_ = 0;  // The same.
  MembersTargets held_for_;             // What the shards were to have meanwhile.
  Promotion promoted_;
  std::uint64_t cookie_ = 0;  // Of the proposal under way; 0: there is none.
  ViewCookies cookies_{ViewProposer::Upkeep};
};

}  // namespace gcoord::server
