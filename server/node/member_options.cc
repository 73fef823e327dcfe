#include "server/node/member_options.h"

#include "protocol/members/cluster_view.h"
#include "server/members/change_rules.h"
#include "server/start/node_start.h"

#include <string>

namespace gcoord::server {

ViewKeeperOptions member_options(const NodeOptions& options, const ReplicatedLog& engine) {
  ViewKeeperOptions result;
  result.self.id = options.node;
  result.self.incarnation = engine.incarnation();
  // Verbs take a number for an id, so it is no name.
  const bool named = !options.member_name.empty() && check_name(options.member_name).ok();
  result.self.name = named ? options.member_name : protocol::default_member_name(options.node);
  result.self.labels = options.member_labels;
  Endpoint peer = options.advertise_peer;
  peer.port = peer.port == 0 ? engine.listen_port() : peer.port;
  result.self.peer_address = is_everywhere(peer) ? std::string{} : to_string(peer);
  for (const PeerOption& each : options.peers) {
    result.peers.emplace(each.id, to_string(each.peer));
  }
  result.settings = settings_of(options);
  result.fixed = options.turn == TurnOption::Resident;
  result.pause_ms = options.view_after_ms;
  return result;
}

}  // namespace gcoord::server
