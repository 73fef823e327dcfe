// The turn of the engine: poll, time, step, persist, send, apply.
#include "server/host_turn/host_replicas.h"
#include "server/replicas/shard_codec.h"

namespace gcoord::server {
namespace {

// Entries of an Append: as many of the longest ones as an extent of the Consensus band holds.
constexpr std::uint32_t kMessageEntries = 31;
// Messages for rows with which peers are asked to wait: a quarter of what is taken in.
constexpr std::size_t kBacklogMost = ActiveRows::kMessagesMax / 4;

static_assert(kMessageEntries * (kEntryHeaderBytes + kCommandBytesMax) <= 64 * 1024);

}  // namespace

std::size_t HostReplicas::turn() {
  if (!failure_.ok()) {
    return 0;
  }
  const std::uint64_t begin_us = clock_.peek_us();
  turn_.done = 0;
  follow_members();
  network_->progress(clock_.peek_us() / 1000, *inflow_);
  take_time();
  ++turn_.number;
  work();
  if (failure_.ok() && turn_.tick_began) {
    fail_unless(lanes_->look_over());
  }
  if (failure_.ok()) {
    lanes_->submit(*disk_);
    send_all();
    turn_.done += checkpointing_->advance(clock_.now_ms(), peers_->records());
    take_checkpoint_end();
    lanes_->apply();
  }
  turn_.done += lanes_->end_turn(!failure_.ok());
  snapshots_.tell();
  metrics_.turns.add();
  metrics_.turn_time.observe_us(clock_.peek_us() - begin_us);
  return turn_.done;
}

// A checkpoint store that fails is as bad as a log that fails: rot and failed syncs do not heal by
// trying again. A full disk may; the log of record meets it as well.
void HostReplicas::take_checkpoint_end() {
  const auto end = checkpointing_->take_end();
  if (!end) {
    return;
  }
  const bool failed = !end->ok() && end->code() != StatusCode::ResourceExhausted;
  fail_unless(failed ? *end : admission_->remember());
}

// A standstill is told once, by whoever sees it first: here before the turn, or in the turn.
void HostReplicas::note_gap() {
  const Tick now = clock_.peek_tick();
  const Tick since = max_id(turn_.tick, turn_.gap_told);
  if (failure_.ok() && now > since && now - since > options_.timing.election_ticks / 4) {
    metrics_.loop_gaps.add();
    turn_.gap_told = now;
    service_.on_loop_gap(now - since);
  }
}

void HostReplicas::take_time() {
  const Tick tick = clock_.read();
  note_gap();
  turn_.tick_began = tick != turn_.tick;
  turn_.tick = tick;
  // One try per tick, or when credit came back, does not keep a node awake while a peer is down.
  lanes_->retry_stalled(turn_.tick_began, *network_);
  if (take_heartbeats()) {
    lanes_->wake_all();
  }
  look_at_lives();
}

// Dates the heartbeats by the tick read after they were polled. True: the rows are to be woken.
bool HostReplicas::take_heartbeats() {
  bool wake = false;
  for (const auto& [from, heartbeat, durable] : inflow_->heartbeats()) {
    wake |= peers_->on_heartbeat(from, heartbeat, turn_.tick);
    admission_->on_durable(from, heartbeat.incarnation, durable);
    claim_->on_admitted(from);
  }
  inflow_->heartbeats().clear();
  wake |= votes_->open_when_established(turn_.tick);
  wake |= votes_->doubt(claim_->doubted());
  wake |= peers_->refresh(turn_.tick);
  if (turn_.tick_began) {
    peers_->show_suspicions(turn_.tick);
  }
  return wake;
}

void HostReplicas::on_refused(NodeId peer, const netcore::Refusal& refusal) {
  if (refusal.code == netcore::RefusalCode::RemovedNode) {
    metrics_.removed_refusals.add();
  }
  if (!failure_.ok()) {
    return;
  }
  fail_unless(claim_->on_refused(peer, refusal, clock_.now_ms()));
}

// Whether the rules of readmission.h are in force (StepInput::lives_end), and whether this node has
// come through them.
void HostReplicas::look_at_lives() {
  // A node that has left leaves rows behind that knew of its lives.
  turn_.lives_end = turn_.lives_end || claim_->any_replaced(peers_->records());
  if (turn_.lives_end) {
    lanes_->turn_on_readmission();
  }
  if (failure_.ok()) {
    fail_unless(claim_->rejoin_when_due(lanes_->forgotten_count()));
  }
}

// Rows hear what became durable before the disk failed all the same.
void HostReplicas::work() {
  const auto disk_failure = disk_->take_failure();
  const bool steps = failure_.ok() && !disk_failure.has_value();
  const consensus::StepInput input = step_input();
  const Status worked = lanes_->work({turn_, input, disk_->durable_lsn(), steps}, *network_);
  fail_unless(disk_failure.value_or(Status{}));
  fail_unless(worked);
}

void HostReplicas::send_all() {
  const std::uint64_t durable = disk_->durable_lsn().value;
  network_->tell_durable(durable);
  // A node whose storage stands still serves nobody: silence lets its leases lapse and other nodes
  // take over (fault 8 of docs/internals/faults.md).
  if (lanes_->waits_since(now(), disk_->durable_lsn()) < options_.timing.election_ticks) {
    peers_->send_heartbeats(*network_, now(), durable);
  }
  lanes_->send(*network_);
  turn_.done += sender_.pump(*network_, now());
  network_->hold_credit(netcore::Band::Consensus, lanes_->messages_left() > kBacklogMost);
  network_->flush();
}

void HostReplicas::fail_unless(const Status& status) {
  if (!status.ok()) {
    failure_.set(status);
  }
}

consensus::StepInput HostReplicas::step_input() const {
  return {.tick = now(),
          .seed = options_.seed,
          .self = options_.node,
          .vote_after = votes_->vote_after(),
          .timing = options_.timing,
          .limits = {.message_entries = kMessageEntries},
          .peer = peers_->records().data(),
          .peer_count = static_cast<std::uint32_t>(peers_->records().size()),
          .incarnation = incarnation(),
          .durability = options_.durability,
          .first_life = static_cast<std::uint8_t>(votes_->first_life() ? 1 : 0),
          .lives_end = static_cast<std::uint8_t>(turn_.lives_end ? 1 : 0),
          .witness = static_cast<std::uint8_t>(options_.witness ? 1 : 0)};
}

}  // namespace gcoord::server
