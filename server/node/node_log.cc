#include "server/node/node_log.h"

#include "protocol/error_codes.h"
#include "server/platform/operator_log.h"

#include <fmt/format.h>

#include <algorithm>

namespace gcoord::server {

namespace {

// A node that joined knows the number alone.
std::string cluster_text(const std::string& name, ClusterId id) {
  const std::string number = std::to_string(id.value);
  return name == number ? "of id " + number : name + " (id " + number + ")";
}

void log_alone(bool has_view) {
  log_info(LogComponent::Node,
           "this node is a cluster of its own, because {} another node; gcoordctl member add lets "
           "others join",
           has_view ? "its view names no" : "no --peer names");
}

void log_role(const NodeOptions& options) {
  if (options.witness) {
    log_info(LogComponent::Node,
             "this node is a witness: it votes and keeps the log, has no state and never leads");
  }
}

}  // namespace

void NodeLog::on_serving(const NodeOptions& options,
                         const NodePorts& ports,
                         const NodeView& view,
                         std::uint64_t open_ms) {
  log_info(LogComponent::Node,
           "serving cluster {}, {} shards, durability {}, incarnation {}: clients on {}:{}, "
           "peers on {}:{}; opened {} in {} ms",
           cluster_text(options.cluster_name, view.cluster),
           view.shard_count,
           durability_name(view.durability),
           view.incarnation.value,
           options.listen_client.host,
           ports.client,
           options.listen_peer.host,
           ports.peer,
           options.data_dir,
           open_ms);
  if (view.peers.empty()) {
    log_alone(members_.view.epoch != 0);
  }
  log_role(options);
  const consensus::StepperReport& stepper = view.stepper;
  if (view.turn == NodeTurn::Resident) {
    log_info(LogComponent::Gpu,
             "the turn is resident on {}: {}; a new cluster begins when all nodes have met",
             stepper.product.empty() ? "the host emulation (twin) of a device" : stepper.name,
             view.stepper_why);
  }
  if (stepper.product.empty()) {
    log_info(LogComponent::Gpu, "shards are stepped on the CPU: {}", view.stepper_why);
  } else {
    log_info(LogComponent::Gpu,
             "shards are stepped on {} ({}), {} MiB of its memory: {}",
             stepper.name,
             stepper.product,
             stepper.device_memory_bytes >> 20,
             view.stepper_why);
  }
  if (stepper.check_one_in != 0) {
    log_info(LogComponent::Gpu,
             "the host repeats one of {} steps, and checks all rows in {} ticks",
             stepper.check_one_in,
             stepper.sweep_looks);
  }
  if (options.device_fault.kind != DeviceFaultPlan::Kind::None) {
    log_warning(LogComponent::Gpu, "GCOORD_DEVICE_FAULT is set: this node will fail on purpose");
  }
  const Endpoint& told = options.advertise_client;
  if (told.host == options.listen_client.host && told.port != 0 && told.port != ports.client) {
    log_warning(
        LogComponent::Clients,
        "clients are told to find this node at {}, by --peer {}=...,{}, but it listens on {}:{}",
        to_string(told),
        options.node.value,
        to_string(told),
        options.listen_client.host,
        ports.client);
  }
  if (options.insecure) {
    log_warning(
        LogComponent::Node,
        "insecure: nothing is encrypted or authenticated; allow only trusted hosts on the network");
  }
}

void NodeLog::on_device_link(NodeId peer, const std::string& text) {
  if (!text.empty()) {
    log_info(LogComponent::Links, "device channel to node {}: {}", peer.value, text);
  }
}

void NodeLog::on_coordinator(NodeId self, CoordinatorMethod method, NodeId coordinator) {
  log_info(LogComponent::Consensus,
           "node {}{} is the coordinator, elected by {}",
           coordinator.value,
           coordinator == self ? ", this one," : "",
           coordinator_method_name(method));
}

void NodeLog::look_at_peer(const NodePeerView& peer) {
  PeerSeen& seen = peers_[peer.link.id.value];
  if (peer.link.state != seen.state) {
    log_debug(LogComponent::Peers,
              "the link to node {} at {} is {}, and was {}; credit stalls {}, reconnects {}{}{}",
              peer.link.id.value,
              peer.link.address,
              netcore::link_state_name(peer.link.state),
              netcore::link_state_name(seen.state),
              peer.link.traffic.credit_stalls,
              peer.link.traffic.reconnects,
              peer.link.last_error.empty() ? "" : "; ",
              peer.link.last_error);
  }
  const bool refused = peer.link.state == netcore::LinkState::Refused;
  if (peer.live && !seen.live) {
    log_info(LogComponent::Peers,
             "node {} at {} is up, incarnation {}, over {}",
             peer.link.id.value,
             peer.link.address,
             peer.link.incarnation.value,
             peer.link.transport);
  } else if (!peer.live && seen.live) {
    log_warning(LogComponent::Peers,
                "node {} at {} is down: {}",
                peer.link.id.value,
                peer.link.address,
                peer.link.last_error.empty() ? "it does not answer" : peer.link.last_error);
  } else if (refused && seen.reason != peer.link.last_error) {
    log_error(LogComponent::Peers,
              "node {} at {} refuses this node: {}",
              peer.link.id.value,
              peer.link.address,
              peer.link.last_error);
  }
  seen = {peer.link.state, peer.live, refused ? peer.link.last_error : seen.reason};
}

namespace {

// How many of those that have a vote are heard, this node included.
struct Heard {
  std::size_t count = 0;
  std::size_t voters = 0;

  bool is_majority() const { return count > voters / 2; }
};

template <typename IsHeard>
Heard heard_of(const NodeView& view, const ClusterMembers& members, IsHeard is_heard) {
  const bool fixed = members.view.epoch == 0;
  const std::vector<NodeId> voters = voters_of(members.view);
  const auto votes = [&](NodeId node) { return fixed || std::ranges::binary_search(voters, node); };
  Heard heard{.count = votes(view.node) ? std::size_t{1} : std::size_t{0},
              .voters = fixed ? view.peers.size() + 1 : voters.size()};
  for (const NodePeerView& peer : view.peers) {
    heard.count += votes(peer.link.id) && std::invoke(is_heard, peer) ? 1 : 0;
  }
  return heard;
}

}  // namespace

bool hears_majority(const NodeView& view, const ClusterMembers& members) {
  return heard_of(view, members, &NodePeerView::live).is_majority();
}

bool is_ready(const NodeView& view, const ClusterMembers& members) {
  if (view.turn == NodeTurn::Host) {
    return hears_majority(view, members);
  }
  const auto is_heard = [](const NodePeerView& peer) {
    return peer.live || peer.link.state == netcore::LinkState::Up;
  };
  return heard_of(view, members, is_heard).is_majority();
}

// Who is no member any more is forgotten: it is not down, it has left.
void NodeLog::set_members(const ClusterMembers& members) {
  members_ = members;
  const std::vector<NodeId> there = nodes_of(members.view);
  std::erase_if(peers_, [&](const auto& each) {
    return members.view.epoch != 0 && !std::ranges::binary_search(there, NodeId{each.first});
  });
}

std::string silent_peers(const NodeView& view) {
  std::string text;
  for (const NodePeerView& peer : view.peers) {
    if (!peer.live) {
      text +=
          fmt::format("{}node {} at {} ({})",
                      text.empty() ? "" : ", ",
                      peer.link.id.value,
                      peer.link.address,
                      peer.link.last_error.empty() ? "it does not answer" : peer.link.last_error);
    }
  }
  return text;
}

// Whom the node waits for, once it has done so for a look, and now and then while it does.
void NodeLog::look_at_waiting(const NodeView& view, bool majority) {
  const bool refused =
      !view.peers.empty() && std::ranges::all_of(view.peers, [](const NodePeerView& peer) {
        return peer.link.state == netcore::LinkState::Refused;
      });
  if (refused && !refused_by_all_) {
    log_error(LogComponent::Peers,
              "all other nodes refuse this node, so it is not ready: {}",
              silent_peers(view));
  }
  refused_by_all_ = refused;
  const std::string silent = silent_peers(view);
  const Awaited awaited = !majority                            ? Awaited::Majority
                          : view.established || silent.empty() ? Awaited::Nobody
                                                               : Awaited::All;
  waiting_looks_ = awaited == awaited_ ? waiting_looks_ + 1 : 0;
  awaited_ = awaited;
  if (refused || waiting_looks_ % kWaitLooks != 1) {
    return;
  }
  if (awaited == Awaited::Majority) {
    log_info(LogComponent::Peers,
             "waits for a majority of {} nodes; not heard: {}",
             heard_of(view, members_, &NodePeerView::live).voters,
             silent);
  } else if (awaited == Awaited::All) {
    log_info(LogComponent::Peers,
             "a new cluster begins when all nodes have met once; waits for {}",
             silent);
  }
}

void NodeLog::on_look(const NodeView& view) {
  for (const NodePeerView& peer : view.peers) {
    look_at_peer(peer);
  }
  const Heard heard = heard_of(view, members_, &NodePeerView::live);
  const bool majority = heard.is_majority();
  if (majority_ && !majority) {
    log_warning(LogComponent::Peers,
                "{} of {} nodes can be heard: no majority, so no request can be committed; waits "
                "for {}",
                heard.count,
                heard.voters,
                silent_peers(view));
    awaited_ = Awaited::Majority;
    waiting_looks_ = 1;  // The line above is the first one.
  } else if (majority && !majority_ && !view.peers.empty()) {
    log_info(
        LogComponent::Peers, "{} of {} nodes can be heard: a majority", heard.count, heard.voters);
  }
  majority_ = majority;
  look_at_waiting(view, majority);
  if (view.readmits) {
    look_at_memory(view, majority);
  }
}

void NodeLog::on_space(const ledger::SpaceReport& space) {
  if (space.low && !disk_low_) {
    const bool files = space.free_files < ledger::kFilesLow;
    log_error(
        LogComponent::Disk,
        "GC{} {}",
        static_cast<std::uint32_t>(protocol::ErrorCode::DiskLow),
        protocol::make_error(
            protocol::ErrorCode::DiskLow,
            std::to_string(space.free_bytes >> 20) + " MiB of " +
                std::to_string(space.total_bytes >> 20) + " are free" +
                (files ? ", and " + std::to_string(space.free_files) + " files" : std::string{}))
            .message());
  } else if (!space.low && disk_low_) {
    log_info(LogComponent::Disk,
             "the disk has space again, {} MiB: new sessions and locks are taken",
             space.free_bytes >> 20);
  }
  const bool used = space.low && space.reserve_bytes == 0;
  if (used && !reserve_used_) {
    log_warning(LogComponent::Disk,
                "the reserve is in use: {} MiB are left for releases and checkpoints",
                space.free_bytes >> 20);
  }
  disk_low_ = space.low;
  reserve_used_ = used;
}

// What this node has forgotten, until it votes everywhere again; and shards that stay
// without a leader although enough nodes can be heard, which only forgetting explains.
void NodeLog::look_at_memory(const NodeView& view, bool majority) {
  const bool whole = view.voting_count == view.shard_count;
  if (whole && !votes_everywhere_) {
    log_info(LogComponent::Consensus, "votes in all {} shards", view.shard_count);
  } else if (!whole && votes_everywhere_ && view.incarnation > Incarnation{1}) {
    log_info(LogComponent::Consensus,
             "votes in {} of {} shards, has lost the state of {}: waits to be re-admitted",
             view.voting_count,
             view.shard_count,
             view.forgotten_count);
  }
  votes_everywhere_ = whole;
  // While leaderships move there is always a shard in between, and never the same one for long.
  const bool stuck = view.unled_count > 0 && majority && view.led_anew == led_anew_;
  led_anew_ = view.led_anew;
  unled_looks_ = stuck ? unled_looks_ + 1 : 0;
  // In durable mode a shard may be without a leader for other reasons, too.
  const bool forgotten = view.durability == Durability::Memory || view.forgotten_count > 0;
  if (unled_looks_ == kUnledLooks && forgotten) {
    log_error(LogComponent::Consensus,
              "GC{} {}",
              static_cast<std::uint32_t>(protocol::ErrorCode::ShardsForgotten),
              protocol::make_error(
                  protocol::ErrorCode::ShardsForgotten,
                  std::to_string(view.unled_count) + " of " + std::to_string(view.shard_count) +
                      " have had no leader for " + std::to_string(kUnledLooks) + " s, " +
                      std::to_string(view.forgotten_count) + " have lost their state here")
                  .message());
  }
}

}  // namespace gcoord::server
