// The effect of a step of a node's way through the cluster on the view.
//
// What may not be is refused here whoever asks, so that no leader can break it: the last voter
// stays, names, addresses and directories are of one node, ids are never given twice, and the nodes
// that are there fit into a shard's configuration. Whether a quorum of live nodes is left, and
// whether a node lags, is judged before a command is proposed (server/members/change_rules.h): the
// log does not know who lives. Pure; thread-safe.
#pragma once

#include "common/incarnation.h"
#include "membership/view/member_step.h"
#include "membership/view/outcome.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::membership {

// The largest group that Raft's users advise, and with it the nodes that have a place in each
// shard's configuration (consensus/step/configuration.h).
inline constexpr std::size_t kVotersMax = 7;
inline constexpr std::size_t kPresentMax = 8;
inline constexpr std::uint32_t kWeightMax = 255;

namespace detail {

inline bool has_name(const ClusterView& view, NodeId other_than, std::string_view name) {
  return std::any_of(view.nodes.begin(), view.nodes.end(), [&](const Member& each) {
    return each.id != other_than && each.state != MemberState::Removed && each.name == name;
  });
}

inline Member* find(ClusterView& view, NodeId id) {
  const auto found = std::find_if(
      view.nodes.begin(), view.nodes.end(), [&](const Member& each) { return each.id == id; });
  return found == view.nodes.end() ? nullptr : &*found;
}

inline bool votes(const Member& node) {
  return node.role != MemberRole::Observer;
}

// Nodes that are to stay: all but those that have left, are leaving, or have a successor coming.
inline std::size_t present_count(const ClusterView& view) {
  return static_cast<std::size_t>(
      std::count_if(view.nodes.begin(), view.nodes.end(), [&](const Member& node) {
        const bool leaves =
            node.state == MemberState::Removed || node.state == MemberState::Leaving;
        const bool replaced =
            std::any_of(view.nodes.begin(), view.nodes.end(), [&](const Member& each) {
              return each.replaces == node.id;
            });
        return !leaves && !replaced;
      }));
}

// Voters, or witnesses too, that are there and stay.
inline std::size_t voter_count(const ClusterView& view, bool witnesses) {
  return static_cast<std::size_t>(
      std::count_if(view.nodes.begin(), view.nodes.end(), [&](const Member& node) {
        const bool there = node.state == MemberState::Active || node.state == MemberState::Draining;
        return there && (node.role == MemberRole::Voter || (witnesses && votes(node)));
      }));
}

inline ViewCode check_weight(MemberRole role, std::uint32_t weight) {
  const bool right = role == MemberRole::Observer  ? weight == 0
                     : role == MemberRole::Witness ? weight == 1
                                                   : weight >= 1;
  return right && weight <= kWeightMax ? ViewCode::Applied : ViewCode::WeightInvalid;
}

// Whether a node may be replaced by this one.
inline ViewCode check_replaced(ClusterView& view, NodeId replaced, NodeId by) {
  if (replaced.value == 0) {
    return ViewCode::Applied;
  }
  const Member* const node = find(view, replaced);
  if (node == nullptr) {
    return ViewCode::NodeUnknown;
  }
  if (node->state == MemberState::Removed) {
    return ViewCode::NodeRemoved;
  }
  const bool taken = std::any_of(view.nodes.begin(), view.nodes.end(), [&](const Member& each) {
    return each.id != by && each.replaces == replaced;
  });
  const bool leaves = node->state == MemberState::Leaving || replaced == by;
  return taken || leaves ? ViewCode::ReplaceInvalid : ViewCode::Applied;
}

// A removed node is kept as a tombstone for as long as there is room for it; the highest id for
// ever, because the next one follows it.
inline void forget_one(ClusterView& view) {
  const auto oldest = std::find_if(view.nodes.begin(), view.nodes.end(), [](const Member& each) {
    return each.state == MemberState::Removed;
  });
  if (oldest != view.nodes.end() && oldest + 1 != view.nodes.end()) {
    view.nodes.erase(oldest);
  }
}

// Whether a node may have the name. Applied: it may.
inline ViewCode check_name(const ClusterView& view, NodeId id, const std::string& name) {
  if (!protocol::is_member_name(name, id)) {
    return ViewCode::NameInvalid;
  }
  return has_name(view, id, name) ? ViewCode::NameTaken : ViewCode::Applied;
}

inline ViewCode add(ClusterView& view, const MemberStep& step) {
  Member node;
  if (view.nodes.back().id.value >= protocol::kMemberIdMax) {
    return ViewCode::TooManyNodes;
  }
  node.id = NodeId{view.nodes.back().id.value + 1};
  node.role = step.role;
  node.state = MemberState::Joining;
  node.weight = step.weight;
  node.name = step.name.empty() ? protocol::default_member_name(node.id) : step.name;
  node.labels = step.labels;
  node.invitation = step.invitation;
  node.auto_promote = step.auto_promote;
  node.replaces = step.replaces;
  ViewCode code = check_name(view, node.id, node.name);
  if (code == ViewCode::Applied && !protocol::are_member_labels(node.labels)) {
    code = ViewCode::LabelInvalid;
  }
  code = code == ViewCode::Applied ? check_weight(node.role, node.weight) : code;
  code = code == ViewCode::Applied ? check_replaced(view, node.replaces, node.id) : code;
  if (code != ViewCode::Applied) {
    return code;
  }
  view.nodes.push_back(std::move(node));
  if (present_count(view) > kPresentMax) {
    view.nodes.pop_back();
    return ViewCode::TooManyNodes;
  }
  if (view.nodes.size() > protocol::kViewNodesMax) {
    forget_one(view);
  }
  // Nobody has left yet of all those that leave.
  return view.nodes.size() > protocol::kViewNodesMax ? ViewCode::TooManyNodes : ViewCode::Applied;
}

inline bool has_address(const ClusterView& view, NodeId other_than, const MemberStep& step) {
  return std::any_of(view.nodes.begin(), view.nodes.end(), [&](const Member& each) {
    const bool other = each.id != other_than && each.state != MemberState::Removed;
    const bool peer = !each.peer_address.empty() && each.peer_address == step.peer_address;
    const bool client = !each.client_address.empty() && each.client_address == step.client_address;
    return other && (peer || client);
  });
}

inline ViewCode check_admission(const ClusterView& view,
                                const Member& node,
                                const MemberStep& step) {
  const std::string& name = step.name.empty() ? node.name : step.name;
  if (!node.invitation) {
    return node.directory == step.directory ? ViewCode::StateWrong : ViewCode::TokenSpent;
  }
  if (protocol::join_proof_hash(step.proof) != node.invitation->token_hash) {
    return ViewCode::TokenUnknown;
  }
  if (step.time_ms > node.invitation->deadline_ms) {
    return ViewCode::TokenLate;
  }
  if (const ViewCode code = check_name(view, node.id, name); code != ViewCode::Applied) {
    return code;
  }
  if (!protocol::are_member_labels(step.labels)) {
    return ViewCode::LabelInvalid;
  }
  const bool addressed = !step.peer_address.empty() &&
                         protocol::is_member_address(step.peer_address) &&
                         protocol::is_member_address(step.client_address);
  if (!addressed) {
    return ViewCode::AddressInvalid;
  }
  if (has_address(view, node.id, step)) {
    return ViewCode::AddressTaken;
  }
  const bool elsewhere = std::any_of(view.nodes.begin(), view.nodes.end(), [&](const Member& each) {
    return each.id != node.id && each.directory == step.directory;
  });
  return elsewhere ? ViewCode::DirectoryTaken : ViewCode::Applied;
}

inline ViewCode admit(const ClusterView& view, Member& node, const MemberStep& step) {
  const ViewCode code = check_admission(view, node, step);
  if (code != ViewCode::Applied) {
    return code;
  }
  node.invitation.reset();
  node.described = true;
  node.directory = step.directory;
  node.name = step.name.empty() ? node.name : step.name;
  node.peer_address = step.peer_address;
  node.client_address = step.client_address;
  node.labels = step.labels.empty() ? node.labels : step.labels;
  return ViewCode::Applied;
}

// What only a joining node has.
inline void end_joining(Member& node) {
  node.invitation.reset();
  node.auto_promote = false;
  node.replaces = {};
}

inline void remove(Member& node) {
  end_joining(node);
  node.state = MemberState::Removed;
  node.suspect = false;
  node.suspect_since_ms = 0;
}

inline void leave_now(Member& node) {
  if (node.invitation) {
    remove(node);
  } else {
    end_joining(node);
    node.state = MemberState::Leaving;
  }
}

// Whether the view has a voter that can lead, and no more voters than fit.
inline ViewCode check_voters(const ClusterView& view) {
  if (voter_count(view, false) == 0) {
    return ViewCode::LastVoter;
  }
  return voter_count(view, true) > kVotersMax ? ViewCode::TooManyVoters : ViewCode::Applied;
}

inline ViewCode promote(ClusterView& view, Member& node, const MemberStep& step) {
  if (node.state != MemberState::Joining || node.invitation) {
    return ViewCode::StateWrong;
  }
  // Those that Add named may have left since.
  NodeId replaced = step.replaces;
  if (replaced.value == 0) {
    const Member* const known = find(view, node.replaces);
    const bool stays = known != nullptr && known->state != MemberState::Removed &&
                       known->state != MemberState::Leaving;
    replaced = stays ? node.replaces : NodeId{};
  }
  if (const ViewCode code = check_replaced(view, replaced, node.id); code != ViewCode::Applied) {
    return code;
  }
  end_joining(node);
  node.state = MemberState::Active;
  if (Member* const old = find(view, replaced); old != nullptr) {
    leave_now(*old);
  }
  return check_voters(view);
}

inline ViewCode leave(ClusterView& view, Member& node) {
  if (node.state == MemberState::Leaving) {
    return ViewCode::StateWrong;
  }
  leave_now(node);
  return voter_count(view, false) == 0 ? ViewCode::LastVoter : ViewCode::Applied;
}

// The node's number is for another data directory from here on: the lives of the old one are over
// whatever they say (docs/adr/0163). The addresses stay until somebody comes.
inline ViewCode renew(const ClusterView& view, Member& node, const MemberStep& step) {
  const bool there = node.state == MemberState::Active || node.state == MemberState::Draining;
  const bool again = node.state == MemberState::Joining && node.incarnation.value != 0;
  if (node.role != MemberRole::Voter) {
    return ViewCode::RoleWrong;
  }
  if (!there && !again) {
    return ViewCode::StateWrong;
  }
  const std::string& name = step.name.empty() ? node.name : step.name;
  if (const ViewCode code = check_name(view, node.id, name); code != ViewCode::Applied) {
    return code;
  }
  if (!protocol::are_member_labels(step.labels)) {
    return ViewCode::LabelInvalid;
  }
  // Nobody has come since the last one, so its life is still free.
  if (!node.invitation) {
    const std::uint32_t generation = generation_of(node.incarnation) + 1;
    if (generation > kGenerationMax) {
      return ViewCode::ReplaceInvalid;
    }
    node.incarnation = incarnation_of(generation, 0);
  }
  node.state = MemberState::Joining;
  node.auto_promote = true;
  node.name = name;
  node.labels = step.labels.empty() ? node.labels : step.labels;
  node.directory = 0;
  node.suspect = false;
  node.suspect_since_ms = 0;
  node.invitation = step.invitation;
  return ViewCode::Applied;
}

inline ViewCode move_state(Member& node, MemberState from, MemberState to) {
  if (node.state != from) {
    return ViewCode::StateWrong;
  }
  node.state = to;
  return ViewCode::Applied;
}

inline ViewCode suspect(Member& node, bool suspect, std::uint64_t time_ms) {
  if (node.invitation || node.suspect == suspect) {
    return ViewCode::StateWrong;
  }
  node.suspect = suspect;
  node.suspect_since_ms = suspect ? time_ms : 0;
  return ViewCode::Applied;
}

// All of them or none: the view that the proposer saw is the one that is changed.
inline ViewCode mark_all(ClusterView& view, const MemberStep& step) {
  for (const SuspectMark& mark : step.marks) {
    Member* const node = find(view, mark.node);
    if (node == nullptr) {
      return ViewCode::NodeUnknown;
    }
    if (node->state == MemberState::Removed) {
      return ViewCode::NodeRemoved;
    }
    const ViewCode code = suspect(*node, mark.suspect, step.time_ms);
    if (code != ViewCode::Applied) {
      return code;
    }
  }
  return ViewCode::Applied;
}

inline ViewCode reweigh(Member& node, std::uint32_t weight) {
  if (node.role == MemberRole::Observer) {
    return ViewCode::RoleWrong;
  }
  node.weight = weight;
  return check_weight(node.role, weight);
}

inline ViewCode step_member(ClusterView& view, ViewCommandKind kind, const MemberStep& step) {
  if (kind == ViewCommandKind::Add) {
    return add(view, step);
  }
  if (kind == ViewCommandKind::Marks) {
    return mark_all(view, step);
  }
  Member* const node = find(view, step.node);
  if (node == nullptr) {
    return ViewCode::NodeUnknown;
  }
  if (node->state == MemberState::Removed) {
    return ViewCode::NodeRemoved;
  }
  switch (kind) {
    case ViewCommandKind::Admit:
      return admit(view, *node, step);
    case ViewCommandKind::Promote:
      return promote(view, *node, step);
    case ViewCommandKind::Leave:
      return leave(view, *node);
    case ViewCommandKind::Gone:
      if (node->state != MemberState::Leaving) {
        return ViewCode::StateWrong;
      }
      remove(*node);
      return ViewCode::Applied;
    case ViewCommandKind::Drain:
      return move_state(*node, MemberState::Active, MemberState::Draining);
    case ViewCommandKind::Undrain:
      return move_state(*node, MemberState::Draining, MemberState::Active);
    case ViewCommandKind::Suspect:
      return suspect(*node, step.suspect, step.time_ms);
    case ViewCommandKind::Reweigh:
      return reweigh(*node, step.weight);
    case ViewCommandKind::Renew:
      return renew(view, *node, step);
    default:
      return ViewCode::Malformed;
  }
}

}  // namespace detail

// A command that is refused changes nothing.
inline ViewCode apply_step(ClusterView& view, ViewCommandKind kind, const MemberStep& step) {
  ClusterView next = view;
  const ViewCode code = detail::step_member(next, kind, step);
  if (code == ViewCode::Applied) {
    view = std::move(next);
  }
  return code;
}

}  // namespace gcoord::membership
