#include "server/host_turn/apply_queue.h"

#include "consensus/step/log_runs.h"
#include "consensus/step/settle.h"
#include "server/replicas/compaction.h"
#include "server/replicas/shard_codec.h"

#include <memory>
#include <utility>

namespace gcoord::server {

void ApplyQueue::apply_all() {
  for (std::size_t at = 0; at < queue_.size(); ++at) {
    want_entries(at);
    const Range& range = queue_[at];
    if (range.first <= range.last) {
      after_apply(range.row, apply_range(range));
    }
  }
  queue_.clear();
}

// Of ranges further on, so that applying them does not wait for memory: they lie anywhere.
void ApplyQueue::want_entries(std::size_t at) const {
  constexpr std::size_t kApart = 3;  // A line of memory takes as long as applying one or two.
  for (std::uint32_t part = 0; part < EntryLog::kParts; ++part) {
    const std::size_t ahead = at + kApart * (EntryLog::kParts - part);
    if (ahead < queue_.size()) {
      env_.rows.log.want(queue_[ahead].row, queue_[ahead].first, part);
    }
  }
}

// Applies the range up to its end or its first configuration; returns the last index applied.
LogIndex ApplyQueue::apply_range(const Range& range) {
  const consensus::ShardRef row = env_.rows.ref(range.row);
  LogIndex index = range.first;
  for (;; ++index) {
    EntryBlock* block = env_.rows.log.find(range.row, index);
    const auto kind = block == nullptr ? consensus::EntryKind::Noop : block->kind;
    env_.service.apply(
        {.shard = row.shard(),
         .index = index,
         .term = consensus::term_at(row.log(), row.runs(), index),
         .kind = kind,
         .payload = block == nullptr ? std::span<const std::byte>{} : block->payload(),
         .cookie = block == nullptr ? 0 : std::exchange(block->cookie, std::uint64_t{0}),
         .leader = row.hot().role == consensus::Role::Leader});
    if (kind == consensus::EntryKind::Configuration) {
      if (const auto configuration = decode_configuration(block->payload())) {
        RowWork& work = env_.rows.active.touch(range.row);
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
  env_.metrics.entries_applied.add(count);
  env_.turn.done += count;
  return index;
}

void ApplyQueue::after_apply(std::uint32_t row, LogIndex applied) {
  env_.marks.mark(row);
  const RowWork* work = env_.rows.active.find(row);
  const bool configures = work != nullptr && work->configuration != nullptr;
  if (!configures && env_.rows.stepper->columns_are_rows()) {
    return settle_at_once(row, applied);
  }
  RowWork& next = env_.rows.active.touch(row);
  next.applied = applied;
  if (wants_compaction(env_.rows.ref(row).log())) {
    next.compact_to = compaction_target(env_.rows.ref(row), env_.peers.records(), kEntriesKept);
  }
  env_.answers.on_applied(next, applied);
}

void ApplyQueue::settle_at_once(std::uint32_t row, LogIndex applied) {
  const consensus::ShardRef shard = env_.rows.ref(row);
  if (consensus::settle_applied(shard, applied)) {
    env_.rows.active.touch(row);
  }
  if (wants_compaction(shard.log())) {
    consensus::compact(
        shard.log(), shard.runs(), compaction_target(shard, env_.peers.records(), kEntriesKept));
    env_.rows.log.compact(row, shard.log().floor);
  }
  if (RowWork* work = env_.rows.active.find(row)) {
    env_.answers.on_applied(*work, applied);
    env_.rows.active.release_if_idle(row);
  }
}

}  // namespace gcoord::server
