// Operator log of a node on stderr: one line per important event, nothing in normal operation.
//
// Important are: that it serves (where, with what, how long recovery took), whom it waits for until
// it has heard a majority, that a peer came or went or refuses this node (with the peer's reason,
// which says what to do), that all refuse it, that the node is left without a majority, and that it
// stops. One thread.
#pragma once

#include "ledger/space/guard.h"
#include "server/interfaces/cluster_members.h"
#include "server/interfaces/replica_view.h"
#include "server/node/node.h"
#include "server/options/options.h"

#include <cstdint>
#include <map>
#include <string>

namespace gcoord::server {

// Whether those that this node hears, itself included, are more than half of all that have a vote
// by the newest view; before view 1, of all nodes. A node without a vote only listens.
bool hears_majority(const NodeView& view, const ClusterMembers& members = {});

// The same for the start: with a resident turn, whose nodes hear each other's devices only once
// their cluster runs, a peer that has admitted this node counts as heard.
bool is_ready(const NodeView& view, const ClusterMembers& members = {});

// The peers that are not heard and why, for people: "node 2 at 10.0.0.2:7500 (cannot connect:
// Connection refused), node 3 at 10.0.0.3:7500 (it does not answer)".
std::string silent_peers(const NodeView& view);

class NodeLog {
 public:
  // Who is in the cluster from now on.
  void set_members(const ClusterMembers& members);

  const ClusterMembers& members() const { return members_; }

  void on_serving(const NodeOptions& options,
                  const NodePorts& ports,
                  const NodeView& view,
                  std::uint64_t open_ms);

  // By what way shards' messages go on the devices, or that they do not; said when it changes.
  // Empty: nothing is said.
  void on_device_link(NodeId peer, const std::string& text);

  // Who holds the office now, elected by bully or ring.
  void on_coordinator(NodeId self, CoordinatorMethod method, NodeId coordinator);

  // Compares with the last call; about once a second.
  void on_look(const NodeView& view);

  // The same: the disk has become low, its reserve was given out, there is space again.
  void on_space(const ledger::SpaceReport& space);

 private:
  struct PeerSeen {
    netcore::LinkState state = netcore::LinkState::Idle;
    bool live = false;
    std::string reason;
  };

  // Whom the node needs to hear before it can go on.
  enum class Awaited : std::uint8_t { Nobody, Majority, All };

  // Looks in a row, a second apart, for which shards may be without a leader: several elections.
  static constexpr std::uint32_t kUnledLooks = 10;

  // Looks between two lines that name whom the node waits for.
  static constexpr std::uint32_t kWaitLooks = 30;

  void look_at_peer(const NodePeerView& peer);
  void look_at_waiting(const NodeView& view, bool majority);
  void look_at_memory(const NodeView& view, bool majority);

  ClusterMembers members_;
  std::map<std::uint32_t, PeerSeen> peers_;
  bool disk_low_ = false;
  bool reserve_used_ = false;
  bool majority_ = false;
  bool refused_by_all_ = false;
  Awaited awaited_ = Awaited::Nobody;
  std::uint32_t waiting_looks_ = 0;  // In a row for the same.
  bool votes_everywhere_ = true;
  std::uint32_t unled_looks_ = 0;
  std::uint64_t led_anew_ = 0;  // At the last look.
};

}  // namespace gcoord::server
