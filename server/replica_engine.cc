#include "server/replica_engine.h"

#include "common/assert.h"
#include "consensus/step.h"
#include "server/engine_core.h"
#include "server/node_view.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

Result<std::unique_ptr<ReplicaEngine>> ReplicaEngine::open(EngineOptions options,
                                                           Service& service,
                                                           MetricsRegistry& metrics) {
  GCOORD_TRY(auto core, Core::open(std::move(options), service, metrics));
  return std::unique_ptr<ReplicaEngine>(new ReplicaEngine(std::move(core)));
}

ReplicaEngine::ReplicaEngine(std::unique_ptr<Core> core) : core_(std::move(core)) {}

ReplicaEngine::~ReplicaEngine() = default;

void ReplicaEngine::propose(ShardId shard,
                            std::span<const std::byte> command,
                            std::uint64_t cookie) {
  core_->propose(shard, command, cookie);
}

void ReplicaEngine::read(ShardId shard, std::uint64_t cookie) {
  core_->read(shard, cookie, ReadWay::Lease);
}

void ReplicaEngine::read_by_round(ShardId shard, std::uint64_t cookie) {
  core_->read(shard, cookie, ReadWay::Round);
}

std::size_t ReplicaEngine::turn() {
  return core_->turn();
}

bool ReplicaEngine::arm() {
  return core_->arm();
}

std::vector<int> ReplicaEngine::event_fds() const {
  return core_->event_fds();
}

std::chrono::milliseconds ReplicaEngine::until_next_deadline() const {
  return core_->until_next_deadline();
}

Tick ReplicaEngine::now() const {
  return core_->now();
}

std::chrono::milliseconds ReplicaEngine::tick_length() const {
  return std::chrono::milliseconds(core_->options().tick_ms);
}

Incarnation ReplicaEngine::incarnation() const {
  return core_->incarnation();
}

std::uint16_t ReplicaEngine::listen_port() const {
  return core_->listen_port();
}

ShardView ReplicaEngine::view(ShardId shard) const {
  return core_->view(shard);
}

NodeView ReplicaEngine::view() const {
  return core_->view();
}

void ReplicaEngine::transfer(ShardId shard, NodeId to) {
  core_->transfer(shard, to);
}

bool ReplicaEngine::send_peer_message(NodeId to, std::span<const std::byte> message) {
  return core_->send_peer_message(to, message);
}

bool ReplicaEngine::shrink() {
  return core_->shrink();
}

bool ReplicaEngine::Core::shrink() {
  const bool rows = rows_.shrink();
  const bool checkpoint = checkpointing_->shrink();
  if (rows || checkpoint) {
    outflow_.shrink();
    network_->shrink();
    stalled_.shrink_to_fit();
    applies_.shrink_to_fit();
  }
  return rows || checkpoint;
}

std::uint64_t ReplicaEngine::request_checkpoint() {
  return core_->request_checkpoint();
}

std::optional<Status> ReplicaEngine::checkpoint_outcome(std::uint64_t number) const {
  return core_->checkpoint_outcome(number);
}

const ledger::CheckpointStore& ReplicaEngine::checkpoints() const {
  return core_->checkpoints();
}

bool ReplicaEngine::advance_storage() {
  return core_->advance_storage();
}

bool ReplicaEngine::storage_queued() const {
  return core_->storage_queued();
}

Status ReplicaEngine::failure() const {
  return core_->failure();
}

void ReplicaEngine::Core::propose(ShardId shard,
                                  std::span<const std::byte> command,
                                  std::uint64_t cookie) {
  GCOORD_ASSERT(shard.value < options_.shard_count);
  GCOORD_ASSERT(cookie != 0);
  EntryBlock* block = pool_.make(consensus::EntryKind::Command, command);
  block->cookie = cookie;
  rows_.add_proposal(shard.value, block);
  metrics_.proposals.add();
}

void ReplicaEngine::Core::read(ShardId shard, std::uint64_t cookie, ReadWay way) {
  GCOORD_ASSERT(shard.value < options_.shard_count);
  GCOORD_ASSERT(cookie != 0);
  rows_.add_read(shard.value, cookie, turn_, way);
}

void ReplicaEngine::Core::transfer(ShardId shard, NodeId to) {
  GCOORD_ASSERT(shard.value < options_.shard_count);
  rows_.touch(shard.value).transfer_to = to;
}

bool ReplicaEngine::Core::send_peer_message(NodeId to, std::span<const std::byte> message) {
  GCOORD_ASSERT(!message.empty());
  const netcore::Slot slot{};
  const netcore::PayloadExtent extent{.slot_index = 0, .bytes = message};
  return failure_.ok() && network_->send(to, netcore::Band::Rpc, {&slot, 1}, {&extent, 1});
}

bool ReplicaEngine::Core::arm() {
  if (!failure_.ok() || rows_.waiting() || sweep_left_ > 0 || readmission_.waiting() ||
      checkpointing_->busy()) {
    return false;
  }
  const bool quiet = !disk_->rearm();
  return network_->arm() && quiet;
}

std::vector<int> ReplicaEngine::Core::event_fds() const {
  std::vector<int> fds;
  for (const int fd : disk_->event_fds()) {
    fds.push_back(fd);
  }
  if (network_->event_fd() >= 0) {
    fds.push_back(network_->event_fd());
  }
  return fds;
}

std::chrono::milliseconds ReplicaEngine::Core::until_next_deadline() const {
  // A loop that sleeps longer could not tell its sleep from a pause of the process.
  const std::uint32_t sleep_ticks = std::max(options_.timing.election_ticks / 8, 1u);
  const Tick wake = now() + (stalled_.empty() ? sleep_ticks : 1u);
  const Tick next = min_id(wake, min_id(deadlines_.next(), peers_->next_deadline()));
  std::uint64_t due_us = clock_.begin_us(max_id(next, Tick{1}));
  for (const std::uint64_t due_ms : {network_->next_deadline_ms(), checkpointing_->next_due_ms()}) {
    due_us = due_ms < due_us / 1000 ? due_ms * 1000 : due_us;
  }
  const std::uint64_t now_us = clock_.peek_us();
  return std::chrono::milliseconds(due_us <= now_us ? 0 : (due_us - now_us + 999) / 1000);
}

// A process that stood still meanwhile may have been replaced: the clock is looked at again, but
// only for a lease that was valid at the last turn.
bool ReplicaEngine::Core::holds_lease(const consensus::ShardRef& row) const {
  const Tick expires = lease_expires(row, step_input());
  return expires > now() && expires > clock_.peek_tick();
}

ShardView ReplicaEngine::Core::view(ShardId shard) const {
  GCOORD_ASSERT(shard.value < options_.shard_count);
  const consensus::ShardRef row = ref(shard.value);
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

NodeView ReplicaEngine::Core::view() const {
  NodeView node = make_node_view(options_, disk_->identity(), now());
  node.leader_count = leader_count_;
  node.vote_after = vote_after_;
  node.submitted_lsn = disk_->submitted_lsn();
  node.durable_lsn = disk_->durable_lsn();
  node.checkpoint_lsn = disk_->checkpoint_lsn();
  node.checkpoint_count = metrics_.checkpoints.value();
  node.entry_bytes = pool_.used_bytes();
  node.stepper = stepper_->report();
  node.stepper_why = stepper_why_;
  node.readmits = readmission_.on();
  add_counts(node, readmission_);
  std::vector<netcore::PeerStatus> links = network_->status();
  for (std::size_t k = 0; k < links.size(); ++k) {
    const consensus::PeerLiveness& record = peers_->records()[k];
    node.peers.push_back({std::move(links[k]),
                          record.live != 0,
                          record.heard,
                          membership::phi_milli(peers_->phi(k, now()))});
  }
  return node;
}

}  // namespace gcoord::server
