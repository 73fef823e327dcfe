#include "server/host_turn/row_storage.h"

#include "common/assert.h"
#include "consensus/step/log_runs.h"
#include "server/interfaces/errors.h"
#include "server/replicas/shard_codec.h"

#include <string>

namespace gcoord::server {

using consensus::EntryKind;
using consensus::Outbox;

Status RowStorage::install_snapshot(std::uint32_t row, std::span<const std::byte> bytes) {
  const ShardId shard = env_.rows.shard_of(row);
  env_.rows.log.clear(row);
  const auto snapshot = decode_snapshot(bytes);
  const Status status = env_.service.install(shard, snapshot->service);
  if (!status.ok()) {
    return {StatusCode::DataLoss,
            "shard " + std::to_string(shard.value) + " got a snapshot that its service refuses: " +
                status.message() + "; bring all nodes to one release",
            kCheckpointImpossible};
  }
  env_.marks.mark(row);
  owed_.insert(row);
  env_.metrics.snapshots_installed.add();
  return {};
}

void RowStorage::store_entries(std::uint32_t row, const SentEntries& sent, LogIndex first) {
  const consensus::Message& message = sent.message;
  EntryReader reader(sent.extent);
  for (LogIndex index = message.index + 1; index <= message.index + message.count; ++index) {
    const auto entry = reader.next();
    GCOORD_ASSERT(entry.has_value());
    if (index < first) {
      continue;
    }
    const bool noop = entry->kind == EntryKind::Noop;
    env_.rows.log.put(
        row, index, noop ? nullptr : env_.rows.pool.make(entry->kind, entry->payload));
  }
}

void RowStorage::store_proposed(std::uint32_t row,
                                const Outbox& out,
                                const consensus::Configuration* proposed) {
  if (out.configuration_index.value != 0) {
    env_.rows.log.put(
        row,
        out.configuration_index,
        env_.rows.pool.make(EntryKind::Configuration, encode_configuration(*proposed)));
  }
}

void RowStorage::store_own_entry(std::uint32_t row, const consensus::Appended& own) {
  if (own.count == 0) {
    return;
  }
  GCOORD_ASSERT(own.count == 1);
  if (own.kind == EntryKind::Noop) {
    env_.rows.log.put(row, own.first, nullptr);
    return;
  }
  const consensus::Configuration left = leave_joint(env_.rows.ref(row).configuration());
  env_.rows.log.put(
      row, own.first, env_.rows.pool.make(EntryKind::Configuration, encode_configuration(left)));
}

void RowStorage::persist(std::uint32_t row, const consensus::StorageRequest& request) {
  if (request.present == 0) {
    return;
  }
  const consensus::ShardRef shard = env_.rows.ref(row);
  ledger::WalBatch& batch = env_.record.batch();
  if (request.snapshot != 0) {
    persist_snapshot(row);
  }
  const bool known =
      shard.storage().durable_term == request.term && shard.storage().durable_vote == request.vote;
  if (!known) {
    batch.hard_state(shard.shard(), request.term, request.vote);
  }
  if (request.first > request.last) {
    if (request.snapshot == 0) {
      batch.truncate(shard.shard(), request.first);
    }
  } else {
    const auto entry_count = static_cast<std::uint32_t>(request.last - request.first + 1);
    batch.begin_entries(shard.shard(), request.first, entry_count);
    for (LogIndex index = request.first; index <= request.last; ++index) {
      const EntryBlock* block = env_.rows.log.find(row, index);
      const auto kind = block == nullptr ? EntryKind::Noop : block->kind;
      batch.entry(consensus::term_at(shard.log(), shard.runs(), index),
                  static_cast<std::uint8_t>(kind),
                  block == nullptr ? std::span<const std::byte>{} : block->payload());
    }
  }
  if (request.commit.value != 0) {
    batch.commit(shard.shard(), request.commit);
  }
  env_.record.expect(
      {.row = row, .term = request.term, .vote = request.vote, .asked = env_.turn.tick});
  env_.marks.mark(row);
}

// The service still is what was installed: nothing is applied before the snapshot is durable.
void RowStorage::persist_snapshot(std::uint32_t row) {
  const ShardId shard = env_.rows.shard_of(row);
  const consensus::Log& log = env_.rows.ref(row).log();
  GCOORD_ASSERT(log.applied == log.floor);
  owed_.erase(row);
  encode_snapshot_head(snapshot_bytes_, env_.rows.ref(row).configuration());
  env_.service.serialize(shard, snapshot_bytes_);
  env_.record.batch().snapshot_installed(shard, log.floor, log.floor_term, snapshot_bytes_);
}

}  // namespace gcoord::server
