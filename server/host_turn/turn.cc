// The turn of the engine: poll, time, step, persist, send, apply.
#include "server/host_turn/host_replicas.h"
#include "server/host_turn/row_workers.h"
#include "server/replicas/shard_codec.h"

#include <algorithm>

namespace gcoord::server {
namespace {

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
  rows_.active.begin_turn();
  ++turn_.number;
  if (failure_.ok()) {
    step_rows();
  }
  if (failure_.ok() && turn_.tick_began) {
    look_over_rows();
  }
  if (failure_.ok()) {
    disk_->submit();
    send_all();
    turn_.done += checkpointing_->advance(clock_.now_ms(), peers_->records());
    take_checkpoint_end();
    workers_->applies.apply_all(workers_->reports.leader_count());
  }
  if (!failure_.ok()) {
    outflow_.clear();
  }
  rows_.active.end_turn();
  workers_->reports.tell();
  workers_->snapshots.tell();
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
  if (rows_.stalled_count() > 0 && (turn_.tick_began || peers_->credit_returned(*network_))) {
    rows_.retry(kRowsPerTurn);
  }
  if (take_heartbeats()) {
    rows_.wake_all();
  }
  look_at_lives();
  take_acknowledgements();
  collect_due(turn_, rows_);
  readmission_.advance(step_input(), rows_.active);
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
    readmission_.turn_on();
  }
  if (failure_.ok()) {
    fail_unless(claim_->rejoin_when_due(readmission_.forgotten_count()));
  }
}

void HostReplicas::take_acknowledgements() {
  Settler& settler = workers_->settler;
  settler.begin(step_input());
  for (const ReceivedNotice& notice : inflow_->notices()) {
    settler.on_notice(notice);
  }
  inflow_->notices().clear();
  turn_.done += disk_->take_acks(
      2 * kRowsPerTurn, [&settler](const ReplicaDisk::Ack& ack) { settler.on_stored(ack); });
  if (const auto failure = disk_->take_failure()) {
    fail_unless(*failure);
  }
}

void HostReplicas::step_rows() {
  const std::uint64_t begin_us = clock_.peek_us();
  std::size_t row_count = 0;
  RowBatch& batch = workers_->batch;
  while (failure_.ok() && batch.take()) {
    workers_->look_at_credit();
    const consensus::StepInput input = step_input();
    batch.fill(input);
    if (const Status stepped = step_batch(input); !stepped.ok()) {
      failure_.set(explain_device(stepped));
      break;
    }
    batch.drain();
    row_count += batch.size();
    if (clock_.peek_us() - begin_us >= kStepLimitUs) {
      break;
    }
  }
  turn_.done += row_count;
  metrics_.steps.add(row_count);
  metrics_.active_rows.set(static_cast<std::int64_t>(row_count));
  metrics_.stepped_us.add(clock_.peek_us() - begin_us);
}

// After a step that fails nothing of its batch is carried out, and the turn neither persists, sends
// nor applies what earlier batches asked for.
Status HostReplicas::step_batch(const consensus::StepInput& input) {
  const std::uint64_t begin_us = clock_.peek_us();
  const Status stepped = workers_->batch.step(input);
  if (device_metrics_) {
    device_metrics_->observe(*rows_.stepper, clock_.peek_us() - begin_us, stepped);
  }
  return stepped;
}

// Once a tick, before anything of this turn leaves: rows that rest in memory which only a device
// sees may have changed by themselves.
void HostReplicas::look_over_rows() {
  const std::uint64_t begin_us = clock_.peek_us();
  const Status looked = rows_.stepper->look_over();
  if (device_metrics_) {
    device_metrics_->observe_look(*rows_.stepper, clock_.peek_us() - begin_us, looked);
  }
  if (!looked.ok()) {
    failure_.set(explain_device(looked));
  }
}

void HostReplicas::send_all() {
  const std::uint64_t durable = disk_->durable_lsn().value;
  network_->tell_durable(durable);
  // A node whose storage stands still serves nobody: silence lets its leases lapse and other nodes
  // take over (fault 8 of docs/internals/faults.md).
  if (disk_->waits_since(now()) < options_.timing.election_ticks) {
    peers_->send_heartbeats(*network_, now(), durable);
  }
  outflow_.send(*network_);
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
