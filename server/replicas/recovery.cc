#include "server/replicas/recovery.h"

#include "common/assert.h"
#include "consensus/step/step.h"
#include "server/interfaces/errors.h"
#include "server/interfaces/log_limits.h"

#include <algorithm>
#include <string>

namespace gcoord::server {
namespace {

using consensus::Configuration;
using consensus::EntryKind;

// Of a shard that is not here.
class NoEntries final : public HardEntryVisitor {
 public:
  void on_entry(LogIndex, Term, const EntryView&) override {}
};

bool known_kind(std::uint8_t kind) {
  return kind <= static_cast<std::uint8_t>(EntryKind::Configuration);
}

}  // namespace

Recovery::Recovery(const Environment& environment, NodeId self)
    : env_(environment), self_(self), rows_(environment.map.row_count()) {
  GCOORD_ASSERT(env_.columns.row_count == rows_.size());
}

void Recovery::repair(std::span<const ShardId> shards) {
  for (const ShardId shard : shards) {
    const std::uint32_t row = env_.map.row_of(shard);
    if (row != consensus::kNoRow) {
      rows_[row].repaired = true;
    }
  }
}

void Recovery::set_initial_configuration(const Configuration& configuration) {
  initial_ = configuration;
  std::fill_n(env_.columns.configuration, env_.columns.row_count, configuration);
}

void Recovery::on_shard(ShardId shard,
                        std::span<const std::byte> hard,
                        std::span<const std::byte> service) {
  if (!failure_.ok()) {
    return;
  }
  if (shard.value >= env_.map.shard_count()) {
    return fail(shard, "is beyond the shard count", kCheckpointImpossible);
  }
  const std::uint32_t row_index = env_.map.row_of(shard);
  const bool here = row_index != consensus::kNoRow;
  NoEntries no_entries;
  loading_ = here ? &rows_[row_index] : nullptr;
  const auto value =
      decode_hard_value(hard, here ? static_cast<HardEntryVisitor&>(*this) : no_entries);
  loading_ = nullptr;
  if (!value) {
    return fail(shard, "has a checkpoint that cannot be decoded", kCheckpointImpossible);
  }
  newest_checkpoint_lsn_ = max_id(newest_checkpoint_lsn_, value->lsn);
  if (!here) {
    return;
  }
  Row& row = rows_[row_index];
  row.repaired = row.repaired || (decided_only_ && !env_.service.continues(shard, service));
  row.term = value->term;
  row.vote = value->vote;
  row.floor = value->floor;
  row.floor_term = value->floor_term;
  row.commit = value->floor;
  row.last = max_id(row.last, value->floor);
  row.lsn = value->lsn;
  configuration(row) = value->configuration;
  if (row.repaired) {
    return;  // Nothing of it is to reach the service.
  }
  if (const Status status = env_.service.install(shard, service); !status.ok()) {
    fail(shard, status.message().c_str(), kCheckpointImpossible);
  }
}

void Recovery::on_entry(LogIndex index, Term term, const EntryView& entry) {
  GCOORD_ASSERT(loading_ != nullptr);
  loading_->last = index - 1;
  append(*loading_, term, entry);
}

Recovery::Row* Recovery::takes(ShardId shard) {
  if (!failure_.ok()) {
    return nullptr;
  }
  if (shard.value >= env_.map.shard_count()) {
    fail(shard, "is beyond the shard count", kReplayImpossible);
    return nullptr;
  }
  const std::uint32_t row_index = env_.map.row_of(shard);
  if (row_index == consensus::kNoRow || lsn_ <= rows_[row_index].lsn) {
    return nullptr;
  }
  rows_[row_index].replayed = true;
  return &rows_[row_index];
}

Recovery::Row* Recovery::takes_entries(ShardId shard) {
  Row* row = takes(shard);
  return row == nullptr || row->repaired ? nullptr : row;
}

Configuration& Recovery::configuration(const Row& row) {
  return env_.columns.configuration[&row - rows_.data()];
}

void Recovery::on_hard_state(ShardId shard, Term term, NodeId vote) {
  if (Row* row = takes(shard)) {
    row->term = term;
    row->vote = vote;
  }
}

void Recovery::on_entries(ShardId shard, LogIndex first, std::uint32_t) {
  Row* row = takes_entries(shard);
  if (row == nullptr) {
    return;
  }
  if (first <= row->floor || first > row->last + 1) {
    return fail(shard, "has entries that do not continue its log", kReplayImpossible);
  }
  truncate(*row, first);
}

void Recovery::on_entry(ShardId shard,
                        LogIndex index,
                        Term term,
                        std::uint8_t kind,
                        std::span<const std::byte> payload) {
  Row* row = takes_entries(shard);
  if (row == nullptr) {
    return;
  }
  const Term before = row->newest == 0 ? row->floor_term : entries_[row->newest - 1].term;
  if (index != row->last + 1 || term < before || !known_kind(kind) ||
      payload.size() > kCommandBytesMax) {
    return fail(shard, "has an entry that cannot be", kReplayImpossible);
  }
  append(*row, term, {static_cast<EntryKind>(kind), payload});
}

void Recovery::on_truncate(ShardId shard, LogIndex from) {
  if (Row* row = takes_entries(shard)) {
    truncate(*row, max_id(from, row->floor + 1));
  }
}

void Recovery::on_snapshot_installed(ShardId shard,
                                     LogIndex index,
                                     Term term,
                                     std::span<const std::byte> state) {
  Row* row = takes_entries(shard);
  if (row == nullptr) {
    return;
  }
  const auto snapshot = decode_snapshot(state);
  if (!snapshot) {
    return fail(shard, "has a snapshot that cannot be decoded", kReplayImpossible);
  }
  truncate(*row, row->floor + 1);
  row->floor = index;
  row->floor_term = term;
  row->commit = index;
  row->last = index;
  configuration(*row) = snapshot->configuration;
  if (const Status status = env_.service.install(shard, snapshot->service); !status.ok()) {
    fail(shard, status.message().c_str(), kReplayImpossible);
  }
}

void Recovery::on_commit(ShardId shard, LogIndex index) {
  if (Row* row = takes_entries(shard)) {
    row->commit = max_id(row->commit, index);
  }
}

Status Recovery::finish(const std::function<void(std::uint32_t row)>& on_replayed) {
  for (std::uint32_t row_index = 0; row_index < rows_.size() && failure_.ok(); ++row_index) {
    finish_row(row_index);
    if (rows_[row_index].replayed) {
      on_replayed(row_index);
    }
  }
  return failure_;
}

void Recovery::append(Row& row, Term term, const EntryView& entry) {
  const bool noop = entry.kind == EntryKind::Noop;
  row.last = row.last + 1;
  entries_.push_back({.term = term,
                      .index = row.last,
                      .block = noop ? nullptr : env_.pool.make(entry.kind, entry.payload),
                      .older = row.newest});
  row.newest = static_cast<std::uint32_t>(entries_.size());
}

void Recovery::truncate(Row& row, LogIndex from) {
  while (row.newest != 0 && entries_[row.newest - 1].index >= from) {
    Entry& entry = entries_[row.newest - 1];
    if (entry.block != nullptr) {
      env_.pool.release(entry.block);
      entry.block = nullptr;
    }
    row.newest = entry.older;
  }
  row.last = min_id(row.last, from - 1);
}

void Recovery::fail(ShardId shard, const char* what, std::uint32_t detail) {
  if (failure_.ok()) {
    failure_ = Status{StatusCode::DataLoss,
                      "shard " + std::to_string(shard.value) + " " + what + ledger::kRotAdvice,
                      detail};
  }
}

void Recovery::forget(Row& row) {
  truncate(row, row.floor + 1);
  row.term = row.floor_term;
  row.vote = NodeId{};
  row.commit = row.floor;
}

// Term and vote stay: they can only make the replica more reluctant.
Status Recovery::erase(Row& row, ShardId shard) {
  row.floor = LogIndex{};
  row.floor_term = Term{};
  row.commit = LogIndex{};
  truncate(row, LogIndex{1});
  row.replayed = true;
  configuration(row) = initial_;
  return env_.service.install(shard, {});
}

// The configuration may be of more nodes than the options name.
Status Recovery::make_slots(const Configuration& configuration) {
  const std::uint32_t wanted = consensus::slots_of(configuration);
  if (wanted <= env_.columns.slot_count) {
    return {};
  }
  return env_.grow ? env_.grow(wanted)
                   : Status{StatusCode::FailedPrecondition, "has more replicas than this turn"};
}

// This runs before any entry reaches the service, so the state is the stored one.
LogIndex Recovery::decided_of(const Row& row, ShardId shard) const {
  const LogIndex known = min_id(row.commit, row.last);
  if (!decide_all_) {
    return known;
  }
  const LogIndex state = state_at_ ? state_at_(shard) : LogIndex{};
  return state > known ? min_id(state, row.last) : row.last;
}

void Recovery::finish_row(std::uint32_t row_index) {
  const ShardId shard = consensus::ShardRef(env_.columns, row_index).shard();
  Row& row = rows_[row_index];
  if (decided_only_) {
    forget(row);
  }
  if (row.repaired) {
    if (const Status status = erase(row, shard); !status.ok()) {
      return fail(shard, status.message().c_str(), kReplayImpossible);
    }
  }
  order_.clear();
  for (std::uint32_t newest = row.newest; newest != 0; newest = entries_[newest - 1].older) {
    order_.push_back(newest - 1);
  }
  if (!order_.empty() && entries_[order_.front()].term > row.term) {
    return fail(shard, "has entries of a term that it never reached", kReplayImpossible);
  }
  const LogIndex decided = decided_of(row, shard);
  const auto configuration = configuration_at(row_index, decided);
  if (!configuration) {
    return fail(shard, "has a configuration that cannot be", kReplayImpossible);
  }
  if (const Status status = make_slots(*configuration); !status.ok()) {
    return fail(shard, status.message().c_str(), kReplayImpossible);
  }
  const consensus::ShardRef ref(env_.columns, row_index);
  consensus::recover(ref,
                     {.term = row.term,
                      .vote = row.vote,
                      .floor = row.floor,
                      .floor_term = row.floor_term,
                      .commit = decided,
                      .configuration = *configuration,
                      .forgetful = forgetful_ || row.repaired},
                     self_);
  for (auto place = order_.rbegin(); place != order_.rend(); ++place) {
    recover_entry(row_index, entries_[*place], decided);
  }
  env_.log.compact(row_index, ref.log().floor);
  GCOORD_ASSERT(ref.log().last == row.last);
  GCOORD_ASSERT(ref.log().applied == decided);
}

void Recovery::recover_entry(std::uint32_t row_index, const Entry& entry, LogIndex decided) {
  const consensus::ShardRef ref(env_.columns, row_index);
  const EntryKind kind = entry.block == nullptr ? EntryKind::Noop : entry.block->kind;
  consensus::recover_entry(ref, entry.term, kind, decided);
  env_.log.put(row_index, entry.index, entry.block);
  if (entry.index <= decided) {
    const auto payload =
        entry.block == nullptr ? std::span<const std::byte>{} : entry.block->payload();
    env_.service.apply({.shard = ref.shard(),
                        .index = entry.index,
                        .term = entry.term,
                        .kind = kind,
                        .payload = payload});
  }
}

std::optional<Configuration> Recovery::configuration_at(std::uint32_t row_index,
                                                        LogIndex decided) const {
  for (const std::uint32_t place : order_) {
    const Entry& entry = entries_[place];
    const bool configures = entry.block != nullptr && entry.block->kind == EntryKind::Configuration;
    if (configures && entry.index <= decided) {
      return decode_configuration(entry.block->payload());
    }
  }
  return env_.columns.configuration[row_index];
}

}  // namespace gcoord::server
