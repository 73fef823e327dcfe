// The effect of one command on the cluster view.
//
// Deterministic: it looks at the view and the command only. A command that is refused changes
// nothing; one that is taken raises the epoch by one, also if the view says the same afterwards.
// Pure; thread-safe.
#pragma once

#include "membership/view/apply_step.h"
#include "membership/view/command.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::membership {

namespace detail {

inline ViewCode found(ClusterView& view, const ViewCommand& command) {
  ClusterView first{.epoch = 0, .settings = command.settings, .nodes = {}};
  for (const Member& node : command.nodes) {
    if (has_name(first, node.id, node.name)) {
      return ViewCode::NameTaken;
    }
    first.nodes.push_back(node);
  }
  view = std::move(first);
  return ViewCode::Applied;
}

// A node that described itself keeps its name and labels: from then on they are the operator's.
inline ViewCode describe(ClusterView& view, const Member& said) {
  Member* const node = find(view, said.id);
  if (node == nullptr) {
    return ViewCode::NodeUnknown;
  }
  if (node->state == MemberState::Removed) {
    return ViewCode::NodeRemoved;
  }
  if (!node->described) {
    if (!has_name(view, said.id, said.name)) {
      node->name = said.name;
    }
    node->labels = said.labels;
    node->described = true;
  }
  node->incarnation = said.incarnation;
  node->peer_address = said.peer_address;
  node->client_address = said.client_address;
  return ViewCode::Applied;
}

// The number of shards is no setting that can change: directories are made for it.
inline ViewCode retune(ClusterView& view, const ViewSettings& settings) {
  if (settings.shards != view.settings.shards) {
    return ViewCode::Malformed;
  }
  view.settings = settings;
  return ViewCode::Applied;
}

// The labels with the changes made; both by rising key.
inline std::vector<MemberLabel> changed_labels(const std::vector<MemberLabel>& labels,
                                               const std::vector<MemberLabel>& changes) {
  std::vector<MemberLabel> result;
  for (const MemberLabel& label : labels) {
    const bool kept = std::none_of(changes.begin(), changes.end(), [&](const MemberLabel& each) {
      return each.key == label.key;
    });
    if (kept) {
      result.push_back(label);
    }
  }
  for (const MemberLabel& change : changes) {
    if (!change.value.empty()) {
      result.push_back(change);
    }
  }
  std::sort(result.begin(), result.end(), [](const MemberLabel& a, const MemberLabel& b) {
    return a.key < b.key;
  });
  return result;
}

inline ViewCode update(ClusterView& view, const MemberChange& change) {
  Member* const node = find(view, change.node);
  if (node == nullptr) {
    return ViewCode::NodeUnknown;
  }
  if (node->state == MemberState::Removed) {
    return ViewCode::NodeRemoved;
  }
  if (change.name && !protocol::is_member_name(*change.name, change.node)) {
    return ViewCode::NameInvalid;
  }
  if (change.name && has_name(view, change.node, *change.name)) {
    return ViewCode::NameTaken;
  }
  const bool keys =
      std::all_of(change.labels.begin(), change.labels.end(), [](const MemberLabel& label) {
        const std::string value = label.value.empty() ? "-" : label.value;
        return protocol::is_member_label({label.key, value});
      });
  std::vector<MemberLabel> labels = changed_labels(node->labels, change.labels);
  if (!keys || !protocol::are_member_labels(labels)) {
    return ViewCode::LabelInvalid;
  }
  node->name = change.name.value_or(node->name);
  node->labels = std::move(labels);
  return ViewCode::Applied;
}

}  // namespace detail

inline ViewCode apply(ClusterView& view, const ViewCommand& command) {
  const bool first = command.kind == ViewCommandKind::Found;
  if (command.expected != view.epoch || first != (view.epoch == 0)) {
    return ViewCode::Stale;
  }
  const std::uint64_t epoch = view.epoch + 1;
  ViewCode code = ViewCode::Malformed;
  switch (command.kind) {
    case ViewCommandKind::Found:
      code = detail::found(view, command);
      break;
    case ViewCommandKind::Describe:
      code = detail::describe(view, command.nodes.front());
      break;
    case ViewCommandKind::Retune:
      code = detail::retune(view, command.settings);
      break;
    case ViewCommandKind::Update:
      code = detail::update(view, command.change);
      break;
    default:
      code = is_member_step(command.kind) ? apply_step(view, command.kind, command.step) : code;
      break;
  }
  view.epoch = code == ViewCode::Applied ? epoch : view.epoch;
  return code;
}

}  // namespace gcoord::membership
