#include "cli/member/join_command.h"

#include "common/json/members.h"
#include "common/json/text.h"
#include "server/platform/endpoint_name.h"

#include <algorithm>
#include <vector>

namespace gcoord::cli {

namespace {

using client::MemberState;

constexpr const char* kFiles = "/etc/gcoord";

// Without those that the cluster holds for failed, unless there are no others.
std::vector<client::MemberDescription> serving(const client::MembershipView& view) {
  std::vector<client::MemberDescription> members;
  std::ranges::copy_if(view.members, std::back_inserter(members), [](const auto& member) {
    const bool serves =
        member.state == MemberState::Active || member.state == MemberState::Draining;
    return serves && !member.client_address.empty();
  });
  const bool some_live = !std::ranges::all_of(members, &client::MemberDescription::suspect);
  std::erase_if(members, [&](const auto& member) { return some_live && member.suspect; });
  return members;
}

std::string pair_of(const client::ChangedMember& added) {
  return "node-" + std::to_string(added.node_id);
}

// Beyond loopback a node only listens with TLS, or if it is given leave.
bool is_beyond_loopback(const client::MembershipView& view) {
  return std::ranges::any_of(serving(view), [](const auto& member) {
    const auto endpoint = server::parse_endpoint(member.client_address);
    return endpoint.ok() && !server::is_loopback(endpoint.value());
  });
}

}  // namespace

JoinTrust trust_of(client::Client& client, bool clients) {
  JoinTrust trust{.clients = clients, .peers = clients};
  for (const client::NodeView& node : client.cluster().nodes) {
    const auto status = node.connected && node.node_id != 0 ? client.node_status(node.node_id)
                                                            : client::Result<std::string>{""};
    const Json report = status.ok() ? parse_json(status.value()) : Json{};
    const Json peers = report.is_object() ? report.value("peers", Json::array()) : Json::array();
    for (const Json& peer : peers) {
      if (peer.value("state", std::string{}) == "up") {
        trust.peers = peer.value("transport", std::string{}).find("with tls") != std::string::npos;
        return trust;
      }
    }
  }
  return trust;
}

std::string join_command(const client::ChangedMember& added, const JoinTrust& trust) {
  std::string addresses;
  for (const client::MemberDescription& member : serving(added.view)) {
    addresses += (addresses.empty() ? "" : ",") + member.client_address;
  }
  const std::string files = kFiles;
  std::string command =
      "gcoordd --join " + addresses + " --join-token " + added.token +
      " --data-dir /var/lib/gcoord --listen-peer ADDRESS:7500 --listen-client ADDRESS:7400";
  if (trust.clients || trust.peers) {
    const std::string pair = files + "/" + pair_of(added);
    command += " --tls-ca " + files + "/ca.crt --tls-crl " + files + "/ca.crl --tls-cert " + pair +
               ".crt --tls-key " + pair + ".key";
  }
  command += trust.peers && !trust.clients ? " --client-tls off" : "";
  command += trust.peers ? " --peer-tls required" : "";
  const bool plain = !trust.clients || !trust.peers;
  return command + (plain && is_beyond_loopback(added.view) ? " --insecure" : "");
}

std::string certificate_command(const client::ChangedMember& added, const JoinTrust& trust) {
  return trust.clients || trust.peers
             ? "gcoordctl cert issue node " + std::to_string(added.node_id) +
                   " --dir gcoord/ca --hosts ADDRESS,localhost,127.0.0.1,::1"
             : "";
}

}  // namespace gcoord::cli
