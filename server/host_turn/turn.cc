// The turn of the engine: poll, time, step, persist, send, apply.
#include "server/host_turn/host_replicas.h"
#include "server/replicas/shard_codec.h"

#include <algorithm>

namespace gcoord::server {
namespace {

<<<<<<< HEAD
||||||| 8eb23655
// Rows that one cause brings into a turn: a bulk wake, deadlines, acknowledgements. A turn stays at
// a few milliseconds when a million shards want something at once, so heartbeats go on.
constexpr std::uint32_t kRowsPerTurn = 4096;
// A turn stops stepping after so long and leaves the rest to the next one. Peers hear from this
// node and this node hears them once per turn, whatever there is to do: a tenth of the shortest
// sensible election timeout.
constexpr std::uint64_t kStepLimitUs = 20000;
=======
// Rows that one cause brings into a turn: a bulk wake, deadlines, acknowledgements. A turn stays at
// a few milliseconds when a million shards want something at once, so heartbeats go on.
constexpr std::uint32_t kRowsPerTurn = 4096;
// Rows of this node that campaign at once, about. After the death of one of three nodes with 65,536
// shards there are fewer, and all are to be led soon. Where still more shards have no leader, as
// after a start, more elections at once are not decided sooner: their messages wait for each other
// until those who sent them try again.
constexpr std::uint32_t kCampaignsMost = 16384;
constexpr std::uint32_t kCampaignsOfMany = 4096;
constexpr std::uint32_t kLeaderlessMany = 65536;
// Rows that may begin a campaign in one turn although as many do: nobody waits for ever.
constexpr std::uint32_t kCampaignsLeast = 16;
// Due rows that are looked at in one turn meanwhile, for those that are at work already.
constexpr std::uint32_t kDueLooks = 8192;
// Messages for rows with which peers are asked to wait: a quarter of what is taken in.
constexpr std::size_t kBacklogMost = ActiveRows::kMessagesMax / 4;
// Rows that are woken meanwhile all the same in one turn: there is more to tell them.
constexpr std::uint32_t kWokenLeast = 512;
// A turn stops stepping after so long and leaves the rest to the next one. Peers hear from this
// node and this node hears them once per turn, whatever there is to do: a tenth of the shortest
// sensible election timeout.
constexpr std::uint64_t kStepLimitUs = 20000;
>>>>>>> op/cold
// Entries of an Append: as many of the longest ones as an extent of the Consensus band holds.
constexpr std::uint32_t kMessageEntries = 31;

static_assert(kMessageEntries * (kEntryHeaderBytes + kCommandBytesMax) <= 64 * 1024);

// Rows that may begin a campaign now. Rows that wait for credit count as campaigns: their messages
// are not even under way.
std::uint32_t room_for_campaigns(const TurnState& turn, const ReplicaRows& rows) {
  const std::size_t most = turn.leaderless > kLeaderlessMany ? kCampaignsOfMany : kCampaignsMost;
  const std::size_t under_way = turn.campaigns + rows.stalled_count();
  return static_cast<std::uint32_t>(under_way < most ? most - under_way : 0);
}

// Due rows and a bulk wake, while there is room for their campaigns.
void collect_due(const TurnState& turn, ReplicaRows& rows) {
  const std::uint32_t room = room_for_campaigns(turn, rows);
  const std::uint32_t campaigns_max = std::max(room, kCampaignsLeast);
  const std::uint32_t looks = room > 0 ? kRowsPerTurn : kDueLooks;
  std::uint32_t campaigns = 0;
  rows.deadlines.collect(rows.columns(), turn.tick, looks, [&](std::uint32_t row) {
    const bool may_begin = rows.ref(row).hot().role == consensus::Role::Follower;
    if (may_begin && campaigns == campaigns_max) {
      return false;
    }
    campaigns += may_begin ? 1 : 0;
    rows.active.touch(row);
    return true;
  });
  rows.wake(room > 0 ? kRowsPerTurn : kWokenLeast);
}

}  // namespace

std::size_t HostReplicas::turn() {
  if (!failure_.ok()) {
    return 0;
  }
  const std::uint64_t begin_us = clock_.peek_us();
  turn_.done = 0;
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
<<<<<<< HEAD
  lanes_->retry_stalled(turn_.tick_began, *network_);
||||||| 8eb23655
  if (rows_.stalling() && (turn_.tick_began || peers_->credit_returned(*network_))) {
    rows_.retry();
  }
=======
  if (rows_.stalled_count() > 0 && (turn_.tick_began || peers_->credit_returned(*network_))) {
    rows_.retry(kRowsPerTurn);
  }
>>>>>>> op/cold
  if (take_heartbeats()) {
    lanes_->wake_all();
  }
  look_at_lives();
<<<<<<< HEAD
||||||| 8eb23655
  take_acknowledgements();
  rows_.deadlines.collect(
      rows_.columns(), tick, kRowsPerTurn, [this](std::uint32_t row) { rows_.active.touch(row); });
  rows_.wake(kRowsPerTurn);
  readmission_.advance(step_input(), rows_.active);
=======
  take_acknowledgements();
  collect_due(turn_, rows_);
  readmission_.advance(step_input(), rows_.active);
>>>>>>> op/cold
}

// Dates the heartbeats by the tick read after they were polled. True: the rows are to be woken.
bool HostReplicas::take_heartbeats() {
  bool wake = false;
  for (const auto& [from, heartbeat, durable] : inflow_->heartbeats()) {
    wake |= peers_->on_heartbeat(from, heartbeat, turn_.tick);
    admission_->on_durable(from, heartbeat.incarnation, durable);
  }
  inflow_->heartbeats().clear();
  wake |= votes_->open_when_established(turn_.tick);
  wake |= peers_->refresh(turn_.tick);
  if (turn_.tick_began) {
    peers_->show_suspicions(turn_.tick);
  }
  return wake;
}

void HostReplicas::on_refused(const netcore::Refusal& refusal) {
  if (!failure_.ok()) {
    return;
  }
  fail_unless(claim_->on_refused(refusal, clock_.now_ms()));
}

// Whether the rules of readmission.h are in force (StepInput::lives_end), and whether this node has
// come through them.
void HostReplicas::look_at_lives() {
  turn_.lives_end = claim_->any_replaced(peers_->records());
  if (turn_.lives_end) {
    lanes_->turn_on_readmission();
  }
  if (failure_.ok()) {
    fail_unless(claim_->rejoin_when_due(lanes_->forgotten_count()));
  }
}

// What became durable before the disk failed is told all the same.
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
  network_->hold_credit(netcore::Band::Consensus, rows_.active.messages_left() > kBacklogMost);
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
          .lives_end = static_cast<std::uint8_t>(turn_.lives_end ? 1 : 0)};
}

}  // namespace gcoord::server
