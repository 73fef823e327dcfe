#include "server/start/member_lines.h"

#include <optional>

namespace gcoord::server {
namespace {

using protocol::Member;
using protocol::MemberRole;
using protocol::MemberState;

std::string role_text(const Member& node) {
  return node.role == MemberRole::Voter ? "" : ", " + std::string(member_role_name(node.role));
}

// Of a node that the view before did not have, or had as one without a process.
std::string arrival(const Member& node) {
  if (node.invitation) {
    return "was added" + role_text(node) + ": waits for its process";
  }
  return "joined at " + (node.peer_address.empty() ? "an unknown address" : node.peer_address) +
         role_text(node);
}

std::string change_of_state(const Member& was, const Member& is) {
  switch (is.state) {
    case MemberState::Joining:
      return "joins";
    case MemberState::Active:
      return was.state == MemberState::Joining    ? "was promoted" + role_text(is)
             : was.state == MemberState::Draining ? "may lead again"
                                                  : "is active";
    case MemberState::Draining:
      return "is drained: it leads nothing";
    case MemberState::Leaving:
      return "leaves: shard after shard goes on without it";
    case MemberState::Removed:
      return was.invitation ? "was taken back before it came" : "has left";
  }
  return "is in an unknown state";
}

std::optional<std::string> change(const Member* was, const Member& is) {
  if (was == nullptr) {
    return is.state == MemberState::Removed ? std::nullopt : std::optional(arrival(is));
  }
  if (was->state != is.state) {
    return change_of_state(*was, is);
  }
  if (was->invitation && !is.invitation) {
    return arrival(is);
  }
  if (was->suspect != is.suspect) {
    return is.suspect ? "is suspected to have failed" : "is not suspected any more";
  }
  if (is.state != MemberState::Removed && was->peer_address != is.peer_address) {
    return "is at " + is.peer_address + " now";
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> member_lines(const protocol::ClusterView& before,
                                      const protocol::ClusterView& after,
                                      NodeId self) {
  std::vector<std::string> lines;
  if (before.epoch == 0) {
    return lines;
  }
  for (const Member& is : after.nodes) {
    if (const auto text = change(protocol::find_member(before, is.id), is)) {
      lines.push_back("node " + std::to_string(is.id.value) + " \"" + is.name + "\"" +
                      (is.id == self ? ", this one, " : " ") + *text + " (view " +
                      std::to_string(after.epoch) + ")");
    }
  }
  return lines;
}

}  // namespace gcoord::server
