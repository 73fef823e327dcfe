#include "cli/member/description.h"

#include "common/text/printable.h"
#include "common/text/utc_text.h"
#include "protocol/members/cluster_view.h"

#include <algorithm>

namespace gcoord::cli {

std::string role_text(client::MemberRole role) {
  return std::string{protocol::member_role_name(static_cast<protocol::MemberRole>(role))};
}

std::string state_text(client::MemberState state) {
  return std::string{protocol::member_state_name(static_cast<protocol::MemberState>(state))};
}

std::string labels_text(const client::MemberDescription& member) {
  std::string text;
  for (const client::MemberLabel& label : member.labels) {
    text += (text.empty() ? "" : ",") + label.key + "=" + label.value;
  }
  return text;
}

Json member_json(const client::MemberDescription& member) {
  Json labels = Json::object();
  for (const client::MemberLabel& label : member.labels) {
    labels[label.key] = label.value;
  }
  return {{"node", member.node_id},
          {"name", member.name},
          {"incarnation", member.incarnation},
          {"role", role_text(member.role)},
          {"state", state_text(member.state)},
          {"weight", member.weight},
          {"peer_address", member.peer_address},
          {"client_address", member.client_address},
          {"labels", labels},
          {"invited", member.invited},
          {"auto_promote", member.auto_promote},
          {"replaces", member.replaces},
          {"suspect", member.suspect},
          {"suspect_since_ms", std::to_string(unix_ms(member.suspect_since))}};
}

Json progress_json(const client::MemberProgress& progress) {
  return {{"view", std::to_string(progress.epoch)},
          {"shards", progress.shards},
          {"led", progress.led},
          {"settled", progress.settled},
          {"ready", progress.ready}};
}

bool is_moving(const client::MembershipView& view) {
  return std::ranges::any_of(view.members, [](const client::MemberDescription& member) {
    const bool leaves = member.state == client::MemberState::Leaving;
    return leaves || (member.state == client::MemberState::Joining && !member.invited);
  });
}

Json view_json(const client::MembershipView& view) {
  Json members = Json::array();
  for (const client::MemberDescription& member : view.members) {
    members.push_back(member_json(member));
  }
  return {{"view", std::to_string(view.epoch)}, {"members", members}};
}

namespace {

std::string address_text(const char* name, const std::string& address) {
  return address.empty() ? "" : name + address;
}

}  // namespace

std::string view_line(const client::MembershipView& view) {
  std::string line = "view " + std::to_string(view.epoch) + ":";
  for (const client::MemberDescription& member : view.members) {
    const bool first = member.node_id == view.members.front().node_id;
    const std::string labels = labels_text(member);
    line += (first ? " " : ", ") + std::to_string(member.node_id) + " " + member.name + " " +
            role_text(member.role) + " " + state_text(member.state) +
            (member.suspect ? " suspect" : "") +
            (member.weight == 1 || member.role == client::MemberRole::Observer
                 ? ""
                 : " weight=" + std::to_string(member.weight)) +
            address_text(" peer=", member.peer_address) +
            address_text(" client=", member.client_address) + (labels.empty() ? "" : " " + labels);
  }
  return shown(line);
}

}  // namespace gcoord::cli
