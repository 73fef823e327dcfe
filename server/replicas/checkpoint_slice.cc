#include "server/replicas/checkpoint_slice.h"

#include "common/assert.h"
#include "consensus/step/log_runs.h"
#include "server/replicas/shard_codec.h"

namespace gcoord::server {

void CheckpointSlice::add(const Rows& rows, std::uint32_t row, ledger::Lsn durable) {
  const ShardId shard = consensus::ShardRef(rows.columns, row).shard();
  const consensus::Hot& hot = rows.columns.hot[row];
  const consensus::Log& log = rows.columns.log[row];
  const consensus::LogRuns& runs = rows.columns.runs[row];
  GCOORD_ASSERT(rows.columns.storage[row].request_pending == 0);
  GCOORD_ASSERT(rows.columns.storage[row].persist_from == log.last + 1);
  encode_hard_value(hard_,
                    {.lsn = durable,
                     .term = hot.term,
                     .vote = hot.vote,
                     .floor = log.applied,
                     .floor_term = consensus::term_at(log, runs, log.applied),
                     .configuration = rows.columns.configuration[row]});
  for (LogIndex index = log.applied + 1; index <= log.last; ++index) {
    const EntryBlock* block = rows.log.find(row, index);
    encode_hard_entry(hard_,
                      consensus::term_at(log, runs, index),
                      block == nullptr ? EntryView{.kind = consensus::EntryKind::Noop}
                                       : EntryView{block->kind, block->payload()});
  }
  service_.clear();
  state_machine_.checkpoint(shard, service_);
  batch_.put(ledger::CheckpointColumn::Hard, shard, hard_);
  batch_.put(ledger::CheckpointColumn::Service, shard, service_);
}

}  // namespace gcoord::server
