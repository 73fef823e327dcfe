#include "server/host_turn/host_replicas.h"

#include "common/assert.h"
#include "consensus/step/step.h"
#include "server/peers/members_target.h"
#include "server/platform/service_message.h"
#include "server/replicas/node_view.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

Status removed_by(std::uint64_t epoch) {
  return {StatusCode::FailedPrecondition,
          "this node was removed from the cluster by view " + std::to_string(epoch) +
              ", and its id is not used again: delete its data directory, and add the machine as a "
              "new node if it is to come back",
          kNodeRemoved};
}

// A directory that lost the view comes up with services, which it must not serve as a witness.
Status check_role(const consensus::MembersTarget& target, NodeId self, bool witness) {
  const Found<consensus::TargetNode> found = find_target(target, self);
  const bool wanted = found.found() && (found->flags & consensus::kTargetWitness) != 0;
  return !wanted || witness ? Status{}
                            : Status{StatusCode::FailedPrecondition,
                                     "the cluster view says that this node is a witness; start it "
                                     "again, as what it is",
                                     kEngineOptions};
}

}  // namespace

void HostReplicas::propose(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie) {
  GCOORD_ASSERT(cookie != 0);
  ReplicaRows& rows = lanes_->rows_of(shard);
  EntryBlock* block = rows.pool.make(consensus::EntryKind::Command, proposed.bytes);
  block->cookie = cookie;
  rows.active.add_proposal(rows.row_of(shard), block);
  metrics_.proposals.add();
}

void HostReplicas::read(ShardId shard, std::uint64_t cookie) {
  GCOORD_ASSERT(cookie != 0);
  ReplicaRows& rows = lanes_->rows_of(shard);
  rows.active.add_read(rows.row_of(shard), cookie, turn_.number, ReadMode::Lease);
}

void HostReplicas::read_by_round(ShardId shard, std::uint64_t cookie) {
  GCOORD_ASSERT(cookie != 0);
  ReplicaRows& rows = lanes_->rows_of(shard);
  rows.active.add_read(rows.row_of(shard), cookie, turn_.number, ReadMode::Round);
}

// Who drains or leaves would hand it on at once.
void HostReplicas::transfer(ShardId shard, NodeId to) {
  if (!lanes_->keeps_leaderships(to)) {
    return;
  }
  ReplicaRows& rows = lanes_->rows_of(shard);
  rows.active.touch(rows.row_of(shard)).transfer_to = to;
}

void HostReplicas::set_members(const ClusterMembers& members) {
  members_next_ = members;
}

void HostReplicas::meet(NodeId node, const std::string& address) {
  members_.meet(node, address);
}

// Between turns: nothing is gathered for a peer, and no row is being stepped. Rows may know who has
// left for a member still: to them it is a node of which nothing is heard.
void HostReplicas::follow_members() {
  const auto add_peers = [this](const std::vector<netcore::PeerAddress>& added) {
    for (const netcore::PeerAddress& peer : added) {
      fail_unless(network_->add_peer(peer));
      peers_->add(peer.id);
      admission_->add(peer.id);
      lanes_->add_peer(peer.id);
    }
  };
  add_peers(members_.take_met());
  if (!members_next_) {
    return;
  }
  const ClusterMembers members = *std::exchange(members_next_, std::nullopt);
  const auto changes = members_.follow(members.view);
  if (!changes) {
    return;
  }
  admission_->follow_view();
  std::vector<NodeId> others = voters_of(members.view);
  std::erase(others, options_.node);
  claim_->set_voters(std::move(others));
  for (const NodeId node : changes->removed) {
    network_->remove_peer(node);
    inflow_->on_peer_down(node, {});
    peers_->remove(node);
    admission_->remove(node);
    lanes_->remove_peer(node);
    lanes_->wake_all();
  }
  for (const netcore::PeerAddress& peer : changes->moved) {
    network_->set_address(peer);
  }
  add_peers(changes->added);
  // So that a leader finds a slot for each of them.
  const auto nodes = static_cast<std::uint32_t>(nodes_of(members.view).size());
  fail_unless(lanes_->make_slots(std::min(nodes, consensus::kReplicaSlots)));
  const MembersTargets targets = members_targets(members.view);
  const consensus::MembersTarget& target = targets.shards;
  for (std::uint32_t k = 0; k < target.count; ++k) {
    peers_->set_witness(target.node[k].node,
                        (target.node[k].flags & consensus::kTargetWitness) != 0);
  }
  lanes_->set_members_targets(targets, members.view.epoch);
  fail_unless(check_role(target, options_.node, options_.witness));
  fail_unless(changes->removed_self ? removed_by(members.view.epoch) : Status{});
}

bool HostReplicas::send_peer_message(NodeId to, std::span<const std::byte> message) {
  GCOORD_ASSERT(!message.empty());
  return failure_.ok() && send_service_message(*network_, to, message);
}

bool HostReplicas::shrink() {
  const bool rows = lanes_->shrink();
  const bool checkpoint = checkpointing_->shrink();
  if (rows || checkpoint) {
    network_->shrink();
    lanes_->give_back();
  }
  return rows || checkpoint;
}

bool HostReplicas::arm() {
  if (!failure_.ok() || members_next_ || members_.has_met() || checkpointing_->busy()) {
    return false;
  }
  const bool came = disk_->rearm();
  return !came && !lanes_->wants_turn(disk_->durable_lsn()) && network_->arm();
}

std::vector<int> HostReplicas::event_fds() const {
  std::vector<int> fds;
  for (const int fd : disk_->event_fds()) {
    fds.push_back(fd);
  }
  if (network_->event_fd() >= 0) {
    fds.push_back(network_->event_fd());
  }
  return fds;
}

std::chrono::milliseconds HostReplicas::until_next_deadline() const {
  // A loop that sleeps longer could not tell its sleep from a pause of the process.
  const std::uint32_t sleep_ticks = std::max(options_.timing.election_ticks / 8, 1u);
  const Tick next =
      min_id(now() + sleep_ticks, min_id(lanes_->next_deadline(now()), peers_->next_deadline()));
  std::uint64_t due_us = clock_.begin_us(max_id(next, Tick{1}));
  for (const std::uint64_t due_ms : {network_->next_deadline_ms(), checkpointing_->next_due_ms()}) {
    due_us = due_ms < due_us / 1000 ? due_ms * 1000 : due_us;
  }
  const std::uint64_t now_us = clock_.peek_us();
  return std::chrono::milliseconds(due_us <= now_us ? 0 : (due_us - now_us + 999) / 1000);
}

// A process that stood still meanwhile may have been replaced: the clock is looked at again, but
// only for a lease that was valid at the last turn.
bool HostReplicas::holds_lease(const consensus::ShardRef& row) const {
  const Tick expires = lease_expires(row, step_input());
  return expires > now() && expires > clock_.peek_tick();
}

ShardView HostReplicas::view(ShardId shard) const {
  const ReplicaRows& rows = lanes_->rows_of(shard);
  const consensus::ShardRef row = rows.ref(rows.row_of(shard));
  return {.shard = shard,
          .role = row.hot().role,
          .term = row.hot().term,
          .vote = row.hot().vote,
          .leader = row.hot().leader,
          .last = row.log().last,
          .commit = row.log().commit,
          .applied = row.log().applied,
          .durable = row.storage().durable,
          .floor = row.log().floor,
          .configuration = row.configuration(),
          .lease = holds_lease(row)};
}

NodeView HostReplicas::view() const {
  NodeView node = make_node_view(options_, disk_->identity(), now());
  node.vote_after = votes_->vote_after();
  node.submitted_lsn = disk_->submitted_lsn();
  node.durable_lsn = disk_->durable_lsn();
  node.checkpoint_lsn = disk_->checkpoint_lsn();
  node.checkpoint_count = metrics_.checkpoints.value();
  lanes_->describe(node);
  for (netcore::PeerStatus& link : network_->status()) {
    const std::optional<std::size_t> k = peers_->index_of(link.id);
    GCOORD_ASSERT(k.has_value());
    const consensus::PeerLiveness& record = peers_->records()[*k];
    node.peers.push_back({std::move(link),
                          record.live != 0,
                          record.heard,
                          membership::phi_milli(peers_->phi(*k, now()))});
  }
  return node;
}

}  // namespace gcoord::server
