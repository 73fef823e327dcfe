#include "server/resident/engine/storage.h"

#include "common/assert.h"
#include "common/device/device_errors.h"
#include "consensus/step/recover.h"
#include "locks/snapshot/snapshot.h"
#include "server/device_turn/store.h"
#include "server/interfaces/errors.h"
#include "server/platform/boot_time.h"
#include "server/replicas/recoveries.h"
#include "server/replicas/recovery.h"
#include "server/replicas/shard_codec.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

// Whether the shard has a lock that came from another one, which its name's hash says.
bool has_guest(const locks::LockSnapshot& snapshot, ShardId shard, std::uint32_t shard_count) {
  return std::ranges::any_of(snapshot.locks, [&](const locks::LockSnapshot::Lock& lock) {
    return shard_of(lock.name_hash, shard_count) != shard;
  });
}

constexpr std::size_t kAcksPerPass = 4096;

Status impossible(const TurnReply& head) {
  return {StatusCode::Internal,
          "the device asked to store entries out of order in shard " +
              std::to_string(head.shard.value) + " at " + std::to_string(head.index.value),
          kDeviceFailed};
}

// A no-op has no bytes, and a configuration those of its kind, with ids; else an entry is stored as
// it lies in the log page.
locks::LockEntry entry_of(const ResidentNames& names,
                          consensus::EntryKind kind,
                          std::span<const std::byte> payload) {
  locks::LockEntry entry;
  if (kind == consensus::EntryKind::Configuration) {
    const auto stored = decode_configuration(payload);
    return stored ? LockTurnService::configuration_entry(names.with_numbers(*stored)) : entry;
  }
  if (payload.size() == sizeof entry) {
    std::memcpy(static_cast<void*>(&entry), payload.data(), sizeof entry);
  }
  return entry;
}

// Stores a recovered row as the code for the cluster's number of voters keeps it. False: no place.
bool store_recovered(const ResidentView& view, std::uint32_t row, consensus::ShardRef from) {
  switch (view.shape.voters) {
    case 5:
      return consensus::store_row<2>(view.table, row, consensus::kNotWide, from);
    case 7:
      return consensus::store_row<4>(view.table, row, consensus::kNotWide, from);
    default:
      return consensus::store_row(view.table, row, consensus::kNotWide, from);
  }
}

}  // namespace

void StoredStateMachine::apply(const AppliedEntry& entry) {
  const locks::LockEntry replayed = entry_of(rows_.names(), entry.kind, entry.payload);
  rows_.replay(entry.shard, entry.index, replayed);
}

ResidentStorage::ResidentStorage(const ReplicaOptions& options,
                                 ResidentRows& rows,
                                 ResidentRequests& requests,
                                 StateMachine& service,
                                 MetricsRegistry& metrics)
    : rows_(rows),
      requests_(requests),
      service_(service),
      stored_(rows),
      map_(options.shard_count),
      arena_(consensus::shard_columns_bytes(map_.row_count(), rows.names().count())),
      columns_(consensus::carve_shard_columns(arena_, map_.row_count(), rows.names().count())),
      log_(pool_, map_.row_count()),
      active_(map_.row_count()),
      metrics_(metrics) {}

Result<std::unique_ptr<ResidentStorage>> ResidentStorage::open(const ReplicaOptions& options,
                                                               ResidentRows& rows,
                                                               ResidentRequests& requests,
                                                               StateMachine& service,
                                                               MetricsRegistry& metrics) {
  std::unique_ptr<ResidentStorage> storage(
      new ResidentStorage(options, rows, requests, service, metrics));
  Recovery recovery(
      {storage->map_, storage->columns_, storage->pool_, storage->log_, storage->stored_},
      options.node);
  Recoveries recoveries(recovery);
  GCOORD_TRY(storage->disk_, ReplicaDisk::open(options, options.seed, recoveries, metrics));
  storage->has_promised_ = storage->identity().established();
  storage->checkpointing_ = std::make_unique<Checkpointing>(
      Checkpointing::Options{options.checkpoint_interval_ms, options.checkpoint_wal_bytes},
      Checkpointing::Environment{
          {{storage->columns_, storage->log_, storage->pool_, storage->active_}},
          storage->stored_,
          *storage->disk_,
          storage->metrics_},
      boot_time_us() / 1000);
  GCOORD_TRY_STATUS(recovery.finish([&storage](std::uint32_t row) { storage->marks().mark(row); }));
  return storage;
}

// --- Into the node

Status ResidentStorage::fill(const ResidentView& view) {
  for (std::uint32_t row = 0; row < columns_.row_count; ++row) {
    GCOORD_TRY_STATUS(fill_row(view, map_.shard_of(row)));
    forget_applied(map_.shard_of(row));
  }
  return {};
}

// A recovered row as the device has it. False: it voted for a node that there is not.
bool ResidentStorage::name_by_numbers(consensus::ShardRef row) const {
  const ResidentNames& names = rows_.names();
  const NodeId vote = row.hot().vote;
  row.hot().vote = names.number(vote);
  row.storage().durable_vote = row.hot().vote;
  row.configuration() = names.with_numbers(row.configuration());
  return names.id(row.hot().vote) == vote;
}

Status ResidentStorage::fill_row(const ResidentView& view, ShardId shard) {
  const std::uint32_t row_index = map_.row_of(shard);
  consensus::RowCopy copy = consensus::copy_of(ref(shard));
  const consensus::ShardRef row = consensus::ref_of(copy, shard, view.shape.voters);
  consensus::Log& log = row.log();
  if (!has_promised_) {
    // A directory that never was part of a cluster has nothing to forget (recovery.h doubts it).
    row.hot().flags = 0;
  }
  if (!name_by_numbers(row)) {
    return {StatusCode::DataLoss,
            "shard " + std::to_string(shard.value) + " voted for no node of the cluster" +
                ledger::kRotAdvice,
            kReplayImpossible};
  }
  rows_.begin(shard, decode_leader(leader_word_of(row, view.shape.voters), view.shape.voters));
  const CommandReassembler::Pieces pieces = rows_.pieces(shard);
  const std::uint64_t kept =
      std::max<std::uint64_t>(LockTurnService::kEntriesKept, pieces.entries.size());
  if (log.applied.value > log.floor.value + kept) {
    consensus::compact(log, row.runs(), log.applied - kept);
  }
  if (log.last - log.floor > view.shape.log_slots || !store_recovered(view, row_index, row)) {
    return {StatusCode::DataLoss,
            "shard " + std::to_string(shard.value) + " has more entries than a log page holds",
            kReplayImpossible};
  }
  view.applied[row_index] = log.applied;
  if (needs_page(row) || !pieces.entries.empty()) {
    hold_page(view.pages, stripe_of(view.shape, shard), row_index);
  }
  for (LogIndex index = log.floor + 1; index <= log.last; ++index) {
    const EntryBlock* block = log_.find(row_index, index);
    view.entry(row_index, index) = block == nullptr
                                       ? LockTurnService::noop()
                                       : entry_of(rows_.names(), block->kind, block->payload());
  }
  for (std::size_t k = 0; k < pieces.entries.size(); ++k) {
    view.entry(row_index, pieces.next - (pieces.entries.size() - k)) = pieces.entries[k];
  }
  const bool behind = rows_.applied(shard) != log.applied;
  if (log.applied.value != 0 && (behind || !fill_locks(view, shard))) {
    view.service.absent[row_index] = 1;
    // Nobody here knows whether it has guests, and requests for them are not to be refused.
    view.service.stripes[stripe_of(view.shape, shard)].has_guests = 1;
    rows_.set_absent(shard);
  }
  return {};
}

// False: the stripe's pools have no room for the shard's state, or it is none.
bool ResidentStorage::fill_locks(const ResidentView& view, ShardId shard) {
  bytes_.clear();
  service_.state(shard, bytes_);
  const auto snapshot = locks::parse_snapshot(bytes_);
  if (!snapshot.ok()) {
    return false;
  }
  LockStripe& stripe = view.service.stripes[stripe_of(view.shape, shard)];
  const locks::LockDemand demand = locks::demand_of(snapshot.value());
  const locks::LockPoolTops& ends = stripe.ends;
  if (ends.locks.available() < demand.locks || ends.sessions.available() < demand.sessions ||
      ends.requests.available() < demand.requests ||
      ends.name_blocks.available() < demand.name_blocks) {
    return false;
  }
  locks::LockWriter writer;
  const locks::LockTables tables = locks::tables_of(stripe.shared, writer);
  locks::claim_windows(stripe.shared, demand, writer);
  locks::install_snapshot(tables, shard, snapshot.value());
  stripe.has_guests |= has_guest(snapshot.value(), shard, view.shape.shard_count) ? 1 : 0;
  locks::end_writer(stripe.shared, tables, writer);
  return true;
}

void ResidentStorage::forget_applied(ShardId shard) {
  consensus::Log& log = ref(shard).log();
  consensus::compact(log, ref(shard).runs(), log.applied);
  log_.compact(map_.row_of(shard), log.applied);
}

// --- From the node

bool ResidentStorage::awaits_state(const TurnReply& head) const {
  return rows_.is_wanted(head.shard) || rows_.applied(head.shard) < head.index;
}

Status ResidentStorage::take(const HostEventSlot& told) {
  const TurnReply& head = told.reply;
  if (map_.row_of(head.shard) == consensus::kNoRow || head.term < ref(head.shard).hot().term) {
    return impossible(head);
  }
  if ((head.detail & kStoreSnapshot) == 0) {
    return store_entries(told);
  }
  if (told.stores.size() != 1 || !configuration_said(told.stores.front(), columns_.slot_count)) {
    return impossible(head);
  }
  if (awaits_state(head)) {
    waiting_[head.shard.value] = told;
  } else {
    store_snapshot(told);
  }
  return {};
}

// Term and vote, what is decided, and who waits for it: what every request says.
void ResidentStorage::store_names(const TurnReply& head) {
  consensus::Hot& hot = ref(head.shard).hot();
  if (hot.term != head.term || hot.vote != head.leader) {
    record_.batch().hard_state(head.shard, head.term, head.leader);
    hot.term = head.term;
    hot.vote = head.leader;
  }
  const std::uint32_t row = map_.row_of(head.shard);
  record_.expect({.row = row, .term = head.term, .vote = head.leader, .asked = now_});
  marks().mark(row);
}

void ResidentStorage::store_snapshot(const HostEventSlot& told) {
  const TurnReply& head = told.reply;
  const consensus::ShardRef row = ref(head.shard);
  row.configuration() =
      rows_.names().with_ids(*configuration_said(told.stores.front(), columns_.slot_count));
  bytes_.clear();
  encode_snapshot_head(bytes_, row.configuration());
  stored_.serialize(head.shard, bytes_);
  const Term floor_term{head.result.word[0]};
  record_.batch().snapshot_installed(head.shard, head.index, floor_term, bytes_);
  store_names(head);
  log_.clear(map_.row_of(head.shard));
  consensus::Log& log = row.log();
  log = consensus::Log{};
  log.last = head.index;
  log.commit = head.index;
  log.applied = head.index;
  log.floor = head.index;
  log.floor_term = floor_term;
  row.storage().persist_from = log.last + 1;
}

Status ResidentStorage::store_entries(const HostEventSlot& told) {
  const TurnReply& head = told.reply;
  const consensus::ShardRef row = ref(head.shard);
  consensus::Log& log = row.log();
  const Term term{head.result.word[0]};
  if (head.index <= log.applied || head.index > log.last + 1 || term > head.term) {
    return impossible(head);
  }
  store_names(head);
  ledger::WalBatch& batch = record_.batch();
  if (head.index <= log.last) {
    consensus::truncate_from(log, row.runs(), head.index);
    log_.truncate(map_.row_of(head.shard), head.index);
  }
  const auto count = static_cast<std::uint32_t>(told.stores.size());
  if (count == 0) {
    batch.truncate(head.shard, head.index);
  } else if (term < consensus::last_term(log, row.runs()) ||
             !consensus::has_room(log, row.runs(), term)) {
    return impossible(head);
  } else {
    consensus::append_entries(log, row.runs(), count, term);
    batch.begin_entries(head.shard, head.index, count);
  }
  for (std::uint32_t k = 0; k < count; ++k) {
    store_entry(head.shard, head.index + k, term, told.stores[k]);
  }
  if (head.result.word[1] != 0) {
    batch.commit(head.shard, LogIndex{head.result.word[1]});
  }
  row.storage().persist_from = log.last + 1;
  return {};
}

void ResidentStorage::store_entry(ShardId shard,
                                  LogIndex index,
                                  Term term,
                                  const locks::LockEntry& entry) {
  auto kind = consensus::EntryKind::Command;
  std::span<const std::byte> payload = std::as_bytes(std::span{&entry, 1});
  consensus::Configuration configuration;
  if (LockTurnService::is_noop(entry)) {
    kind = consensus::EntryKind::Noop;
    payload = {};
  } else if (const auto said = configuration_said(entry, columns_.slot_count)) {
    kind = consensus::EntryKind::Configuration;
    configuration = rows_.names().with_ids(*said);
    payload = encode_configuration(configuration);
  }
  record_.batch().entry(term, static_cast<std::uint8_t>(kind), payload);
  log_.put(map_.row_of(shard), index, payload.empty() ? nullptr : pool_.make(kind, payload));
}

Status ResidentStorage::on_told(const HostEventSlot& told) {
  const consensus::ShardRef row = ref(told.reply.shard);
  const LogIndex index = told.reply.index;
  if (index != row.log().applied + 1 || index > row.log().last) {
    return impossible(told.reply);
  }
  if (const auto said = configuration_said(told.entry, columns_.slot_count)) {
    row.configuration() = rows_.names().with_ids(*said);
  }
  row.log().commit = index;
  row.log().applied = index;
  forget_applied(told.reply.shard);
  return {};
}

Result<std::size_t> ResidentStorage::take_acks(TurnSightings* sightings) {
  const auto take = [this, sightings](const TurnRecord::Ack& ack) {
    const ShardId shard = map_.shard_of(ack.row);
    if (sightings != nullptr) {
      sightings->on_stored(shard, ack.term, ack.vote);
    }
    requests_.stored(shard, {ack.term, ack.vote, 1});
  };
  const std::size_t count = record_.take_acks(disk_->durable_lsn(), kAcksPerPass, take);
  if (const auto failure = disk_->take_failure()) {
    return *failure;
  }
  return count;
}

// Snapshots whose state has come are laid into the record that is submitted here and nowhere else:
// whoever is to be told of one is told when that record is durable.
void ResidentStorage::submit() {
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    const bool waits = awaits_state(each->second.reply);
    if (!waits) {
      store_snapshot(each->second);
    }
    each = waits ? std::next(each) : waiting_.erase(each);
  }
  if (!record_.batch().empty()) {
    record_.on_submitted(disk_->submit(record_.batch()));
  }
  GCOORD_ASSERT(record_.settled());
}

}  // namespace gcoord::server
