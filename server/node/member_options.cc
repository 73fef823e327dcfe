#include "server/node/member_options.h"

#include "protocol/members/cluster_view.h"
#include "server/start/node_start.h"

#include <string>

namespace gcoord::server {

ViewKeeperOptions member_options(const NodeOptions& options, const ReplicatedLog& engine) {
  ViewKeeperOptions result;
  result.self.id = options.node;
  result.self.incarnation = engine.incarnation();
  result.self.name = options.member_name.empty() ? protocol::default_member_name(options.node)
                                                 : options.member_name;
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
