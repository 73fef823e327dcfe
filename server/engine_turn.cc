// The turn of the engine: poll, time, step, persist, send, apply.
#include "common/assert.h"
#include "consensus/log_runs.h"
#include "server/compaction.h"
#include "server/engine_core.h"
#include "server/log_limits.h"
#include "server/shard_codec.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

using consensus::Inbox;

// Rows that one cause brings into a turn: a bulk wake, deadlines, acknowledgements. A turn stays at
// a few milliseconds when a million shards want something at once, so heartbeats go on.
constexpr std::uint32_t kRowsPerTurn = 4096;
// A turn stops stepping after so long and leaves the rest to the next one. Peers hear from this
// node and this node hears them once per turn, whatever there is to do: a tenth of the shortest
// sensible election timeout.
constexpr std::uint64_t kStepLimitUs = 20000;
// Entries of an Append: as many of the longest ones as an extent of the Consensus band holds.
constexpr std::uint32_t kMessageEntries = 31;

static_assert(kMessageEntries * (kEntryHeaderBytes + kCommandBytesMax) <= 64 * 1024);

// Takes an inbox back to "no input"; message slots beyond the count are never read.
void clear(Inbox& in) {
  in.message_count = 0;
  in.proposal_count = 0;
  in.read_sequence = 0;
  in.read_proof = consensus::ReadProof::LeaseOrRound;
  in.applied = LogIndex{};
  in.compact_to = LogIndex{};
  in.storage_ack = consensus::StorageAck{};
  in.transfer_to = NodeId{};
  in.snapshot_failed = NodeId{};
  in.campaign = 0;
  in.woken = 0;
  in.configuration_input = consensus::ConfigurationInput::None;
  in.configuration_index = LogIndex{};
}

// Starts to bring a row's columns into the cache. Rows of a batch lie anywhere in hundreds of
// megabytes; without this a step mostly waits for memory.
void prefetch(const consensus::ShardColumns& columns, std::uint32_t row) {
  __builtin_prefetch(&columns.hot[row]);
  __builtin_prefetch(&columns.log[row]);
  __builtin_prefetch(&columns.runs[row]);
  __builtin_prefetch(&columns.storage[row]);
  __builtin_prefetch(&columns.election[row]);
  __builtin_prefetch(&columns.configuration[row]);
  for (std::uint32_t slot = 0; slot < columns.slot_count; ++slot) {
    __builtin_prefetch(&columns.progress[static_cast<std::size_t>(slot) * columns.row_count + row]);
  }
}

}  // namespace

std::size_t ReplicaEngine::Core::turn() {
  if (!failure_.ok()) {
    return 0;
  }
  const std::uint64_t begin_us = clock_.peek_us();
  done_ = 0;
  poll();
  take_time();
  rows_.begin_turn();
  ++turn_;
  if (failure_.ok()) {
    step_rows();
  }
  if (failure_.ok() && tick_began_) {
    look_over_rows();
  }
  if (failure_.ok()) {
    disk_->submit();
    send_all();
    done_ += checkpointing_->advance(clock_.now_ms(), peers_->records());
    take_checkpoint_end();
    apply_all();
  }
  rows_.end_turn();
  metrics_.turns.add();
  metrics_.turn_time.observe_us(clock_.peek_us() - begin_us);
  return done_;
}

// A checkpoint store that fails is as bad as a log that fails: rot and failed syncs do not heal by
// trying again. A full disk may; the log of record meets it as well.
void ReplicaEngine::Core::take_checkpoint_end() {
  const auto end = checkpointing_->take_end();
  if (!end) {
    return;
  }
  if (!end->ok() && end->code() != StatusCode::ResourceExhausted) {
    fail(*end);
  } else if (const Status status = admission_->remember(); !status.ok()) {
    fail(status);
  }
}

void ReplicaEngine::Core::poll() {
  network_->progress(clock_.peek_us() / 1000, *inflow_);
}

void ReplicaEngine::Core::take_time() {
  const Tick tick = clock_.read();
  if (tick - last_tick_ > options_.timing.election_ticks / 4) {
    metrics_.loop_gaps.add();
    service_.on_loop_gap(tick - last_tick_);
  }
  tick_began_ = tick != last_tick_;
  retry_stalled(tick_began_);
  last_tick_ = tick;
  bool wake = false;
  for (const auto& [from, heartbeat, durable] : inflow_->heartbeats()) {
    wake |= peers_->on_heartbeat(from, heartbeat, tick);
    admission_->on_durable(from, heartbeat.incarnation, durable);
  }
  inflow_->heartbeats().clear();
  establish();
  wake |= peers_->refresh(tick);
  if (tick_began_) {
    peers_->show_suspicions(tick);
  }
  sweep_left_ = wake ? options_.shard_count : sweep_left_;
  take_acknowledgements();
  deadlines_.collect(
      stepper_->columns(), tick, kRowsPerTurn, [this](std::uint32_t row) { rows_.touch(row); });
  sweep();
  look_at_lives();
  readmission_.advance(step_input(), rows_);
}

// A directory that never promised anything need not wait; the one that it replaces may have.
Tick ReplicaEngine::Core::silent_until() const {
  const bool fresh = disk_->first_boot() && !disk_->identity().rejoining();
  return fresh ? Tick{0} : now() + options_.timing.election_ticks;
}

// Once every node has admitted this directory, its rows may vote.
void ReplicaEngine::Core::establish() {
  if (vote_after_ == kTickVoteNever && admission_->established()) {
    vote_after_ = silent_until();
    sweep_left_ = options_.shard_count;
  }
}

void ReplicaEngine::Core::on_refused(const netcore::Refusal& refusal) {
  if (!failure_.ok()) {
    return;
  }
  if (const Status status = claim_->on_refused(refusal); !status.ok()) {
    fail(status);
  }
}

// Whether the rules of readmission.h are in force (StepInput::lives_end), and whether this node has
// come through them.
void ReplicaEngine::Core::look_at_lives() {
  lives_end_ = claim_->any_replaced(peers_->records());
  if (lives_end_) {
    readmission_.turn_on();
  }
  if (!failure_.ok()) {
    return;
  }
  if (const Status status = claim_->rejoin_when_due(readmission_.forgotten_count()); !status.ok()) {
    fail(status);
  }
}

void ReplicaEngine::Core::take_acknowledgements() {
  done_ += disk_->take_acks(2 * kRowsPerTurn, [this](const EngineDisk::Ack& ack) {
    rows_.touch(ack.row).storage_ack = {ack.term, ack.vote, 1};
  });
  if (const auto failure = disk_->take_failure()) {
    fail(*failure);
  }
}

void ReplicaEngine::Core::sweep() {
  const std::uint32_t count = std::min(sweep_left_, kRowsPerTurn);
  for (std::uint32_t k = 0; k < count; ++k) {
    rows_.touch(sweep_row_).woken = 1;
    sweep_row_ = (sweep_row_ + 1) % options_.shard_count;
  }
  sweep_left_ -= count;
}

// A row without credit asks for a step in every turn; one per tick, or when credit came back, does
// as well and does not keep a node awake while a peer is down.
void ReplicaEngine::Core::retry_stalled(bool tick_began) {
  if (stalled_.empty() || (!tick_began && !peers_->credit_returned(*network_))) {
    return;
  }
  for (const std::uint32_t row : stalled_) {
    rows_.touch(row);
  }
  stalled_.clear();
}

void ReplicaEngine::Core::step_rows() {
  const std::uint64_t begin_us = clock_.peek_us();
  std::size_t row_count = 0;
  const std::uint32_t batch = stepper_->batch_rows();
  for (rows_.take_batch(batch_rows_, batch); !batch_rows_.empty() && failure_.ok();
       rows_.take_batch(batch_rows_, batch)) {
    for (const std::uint32_t row : batch_rows_) {
      prefetch(stepper_->columns(), row);
    }
    peers_->set_credit(*network_, [this](NodeId peer) { return outflow_.gathered(peer); });
    for (std::size_t k = 0; k < batch_rows_.size(); ++k) {
      fill(k);
    }
    if (const Status stepped = step_batch(); !stepped.ok()) {
      fail(explain_device(stepped));
      break;
    }
    for (std::size_t k = 0; k < batch_rows_.size(); ++k) {
      carry_out(k);
    }
    row_count += batch_rows_.size();
    if (clock_.peek_us() - begin_us >= kStepLimitUs) {
      break;
    }
  }
  done_ += row_count;
  metrics_.steps.add(row_count);
  metrics_.active_rows.set(static_cast<std::int64_t>(row_count));
  metrics_.stepped_us.add(clock_.peek_us() - begin_us);
}

// A step that fails leaves rows, inboxes and outboxes as they fell: nothing of this batch is
// carried out, and the turn neither persists, sends nor applies what earlier batches asked for.
Status ReplicaEngine::Core::step_batch() {
  const std::uint64_t begin_us = clock_.peek_us();
  const Status stepped = stepper_->step(batch_rows_, in_, out_, step_input());
  if (device_metrics_) {
    device_metrics_->observe(*stepper_, clock_.peek_us() - begin_us, stepped);
  }
  return stepped;
}

// Once a tick, before anything of this turn leaves: rows that rest in memory which only a device
// sees may have changed by themselves.
void ReplicaEngine::Core::look_over_rows() {
  const std::uint64_t begin_us = clock_.peek_us();
  const Status looked = stepper_->look_over();
  if (device_metrics_) {
    device_metrics_->observe_look(*stepper_, clock_.peek_us() - begin_us, looked);
  }
  if (!looked.ok()) {
    fail(explain_device(looked));
  }
}

void ReplicaEngine::Core::fill(std::size_t k) {
  const std::uint32_t row = batch_rows_[k];
  RowWork& work = *rows_.find(row);
  Inbox& in = in_[k];
  Place& place = places_[k];
  clear(in);
  place.before.hot = ref(row).hot();
  place.before.log = ref(row).log();
  fill_acknowledgements(work, in);
  if (work.held) {
    return;
  }
  in.woken = std::exchange(work.woken, std::uint8_t{0});
  in.transfer_to = std::exchange(work.transfer_to, NodeId{});
  in.snapshot_failed = std::exchange(work.snapshot_failed, NodeId{});
  in.proposal_count = work.proposal_count;
  fill_messages(work, place, in);
  fill_proposed(work, place, in);
  serve_reads(work, in);
}

void ReplicaEngine::Core::fill_acknowledgements(RowWork& work, Inbox& in) {
  in.storage_ack = std::exchange(work.storage_ack, consensus::StorageAck{});
  in.applied = std::exchange(work.applied, LogIndex{});
  in.compact_to = std::exchange(work.compact_to, LogIndex{});
  if (work.configuration) {
    in.configuration_input = consensus::ConfigurationInput::Applied;
    in.configuration_index = std::exchange(work.configuration_index, LogIndex{});
    in.configuration = *work.configuration;
    work.configuration.reset();
  }
}

void ReplicaEngine::Core::fill_messages(RowWork& work, Place& place, Inbox& in) {
  // One configuration per inbox: a snapshot waits for an applied configuration to pass.
  if (work.snapshot && in.configuration_input == consensus::ConfigurationInput::None) {
    place.snapshot = std::move(work.snapshot);
    place.message_number[in.message_count] = 0;
    in.message[in.message_count++] = place.snapshot->message;
    in.configuration_input = consensus::ConfigurationInput::Installed;
    in.configuration = decode_snapshot(place.snapshot->bytes)->configuration;
  } else if (work.snapshot) {
    rows_.touch(work.row);
  }
  while (work.message_first != 0 && in.message_count < consensus::kInboxMessages) {
    const std::uint32_t number = rows_.take_message(work);
    place.message_number[in.message_count] = number;
    in.message[in.message_count++] = rows_.message(number).message;
  }
}

// A configuration to propose waits, too, for one that comes from outside.
void ReplicaEngine::Core::fill_proposed(RowWork& work, Place& place, Inbox& in) {
  if (!work.proposed) {
    return;
  }
  if (in.configuration_input != consensus::ConfigurationInput::None) {
    rows_.touch(work.row);
    return;
  }
  place.proposed = std::move(work.proposed);
  in.configuration_input = consensus::ConfigurationInput::Proposed;
  in.configuration = *place.proposed;
}

void ReplicaEngine::Core::send_all() {
  const std::uint64_t durable = disk_->durable_lsn().value;
  network_->tell_durable(durable);
  // A node whose storage stands still serves nobody: silence lets its leases lapse and other nodes
  // take over (fault 8 of docs/internals/faults.md).
  if (disk_->waits_since(now()) < options_.timing.election_ticks) {
    peers_->send_heartbeats(*network_, now(), durable);
  }
  outflow_.send(*network_);
  done_ += sender_.pump(*network_, now());
  network_->flush();
}

void ReplicaEngine::Core::apply_all() {
  for (std::size_t at = 0; at < applies_.size(); ++at) {
    want_entries(at);
    const Apply& range = applies_[at];
    if (range.first <= range.last) {
      after_apply(range.row, apply_range(range));
    }
  }
  applies_.clear();
  metrics_.entry_bytes.set(static_cast<std::int64_t>(pool_.used_bytes()));
  metrics_.leaders.set(leader_count_);
}

// Of ranges further on, so that applying them does not wait for memory: they lie anywhere.
void ReplicaEngine::Core::want_entries(std::size_t at) const {
  constexpr std::size_t kApart = 3;  // A line of memory takes as long as applying one or two.
  for (std::uint32_t part = 0; part < EntryLog::kParts; ++part) {
    const std::size_t ahead = at + kApart * (EntryLog::kParts - part);
    if (ahead < applies_.size()) {
      log_.want(ShardId{applies_[ahead].row}, applies_[ahead].first, part);
    }
  }
}

// Applies the range up to its end or its first configuration; returns the last index applied.
LogIndex ReplicaEngine::Core::apply_range(const Apply& range) {
  const consensus::ShardRef row = ref(range.row);
  LogIndex index = range.first;
  for (;; ++index) {
    EntryBlock* block = log_.find(row.shard(), index);
    const auto kind = block == nullptr ? consensus::EntryKind::Noop : block->kind;
    service_.apply({.shard = row.shard(),
                    .index = index,
                    .term = consensus::term_at(row.log(), row.runs(), index),
                    .kind = kind,
                    .payload = block == nullptr ? std::span<const std::byte>{} : block->payload(),
                    .cookie = block == nullptr ? 0 : std::exchange(block->cookie, std::uint64_t{0}),
                    .leader = row.hot().role == consensus::Role::Leader});
    if (kind == consensus::EntryKind::Configuration) {
      if (const auto configuration = decode_configuration(block->payload())) {
        RowWork& work = rows_.touch(range.row);
        work.configuration = std::make_unique<consensus::Configuration>(*configuration);
        work.configuration_index = index;
        break;
      }
    }
    if (index == range.last) {
      break;
    }
  }
  const std::uint64_t count = index - range.first + 1;
  metrics_.entries_applied.add(count);
  done_ += count;
  return index;
}

void ReplicaEngine::Core::after_apply(std::uint32_t row, LogIndex applied) {
  checkpointing_->mark(ShardId{row});
  RowWork& work = rows_.touch(row);
  work.applied = applied;
  if (wants_compaction(ref(row).log())) {
    work.compact_to = compaction_target(ref(row), peers_->records(), kEntriesKept);
  }
  if (work.reads) {
    answer_reads(work.reads->take_applied(applied));
  }
}

void ReplicaEngine::Core::fail(const Status& status) {
  if (failure_.ok()) {
    failure_ = status;
  }
  outflow_.clear();
}

consensus::StepInput ReplicaEngine::Core::step_input() const {
  return {.tick = now(),
          .seed = options_.seed,
          .self = options_.node,
          .vote_after = vote_after_,
          .timing = options_.timing,
          .limits = {.message_entries = kMessageEntries},
          .peer = peers_->records().data(),
          .peer_count = static_cast<std::uint32_t>(peers_->records().size()),
          .incarnation = incarnation(),
          .durability = options_.durability,
          .first_life = static_cast<std::uint8_t>(first_life_ ? 1 : 0),
          .lives_end = static_cast<std::uint8_t>(lives_end_ ? 1 : 0)};
}

}  // namespace gcoord::server
