#include "server/replicas/checkpointing.h"

#include "common/assert.h"
#include "server/platform/operator_log.h"
#include "server/replicas/compaction.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace gcoord::server {
namespace {

// A turn looks at so many shards, and writes at most about so many bytes: well under a millisecond.
constexpr std::size_t kRowsPerTurn = 512;
constexpr std::size_t kBytesPerTurn = 256 * 1024;
// A slice is handed to the store at this size: few, large writes that still fit its memtable.
constexpr std::size_t kSliceBytes = std::size_t{4} << 20;
// Shards that may wait for rest at once.
constexpr std::size_t kHeldMax = 256;
// Log entries in memory at which a checkpoint is due for the sake of compaction, unless the one
// before left that much.
constexpr std::uint64_t kEntryBytesMax = std::uint64_t{256} << 20;

}  // namespace

Checkpointing::Checkpointing(const Options& options, const Environment& parts, std::uint64_t now_ms)
    : options_(options),
      environment_(parts),
      marks_(parts.columns.row_count),
      begin_ms_(now_ms),
      slice_({.columns = parts.columns, .log = parts.log, .service = parts.service}) {}

std::size_t Checkpointing::advance(std::uint64_t now_ms,
                                   std::span<const consensus::PeerLiveness> peers) {
  tally_.now_ms = now_ms;
  switch (state_) {
    case State::Idle:
      if (due(now_ms)) {
        begin(now_ms);
      }
      return 0;
    case State::Collecting:
      paused_ = by_time_ && !requested_ && !pressed() && put_off(now_ms);
      if (paused_) {
        collect_held();  // They wait for nobody.
        return 0;
      }
      return collect(peers);
    case State::Handing:
      hand_over();
      return 0;
    case State::Writing:
      // Rows that are held must not wait for the store as well.
      collect_held();
      take_result();
      return 0;
  }
  return 0;
}

std::uint64_t Checkpointing::next_due_ms() const {
  const bool timed = state_ == State::Idle && options_.interval_ms != 0;
  const std::uint64_t intervals = environment_.service.behind() ? 2 : 1;
  return timed ? begin_ms_ + intervals * options_.interval_ms
               : std::numeric_limits<std::uint64_t>::max();
}

bool Checkpointing::put_off(std::uint64_t now_ms) const {
  return environment_.service.behind() && now_ms - begin_ms_ < 2 * options_.interval_ms;
}

bool Checkpointing::pressed() const {
  const std::uint64_t entry_bytes = environment_.pool.used_bytes();
  return environment_.disk.submitted_bytes() - begin_bytes_ >= options_.wal_bytes ||
         (entry_bytes >= kEntryBytesMax && entry_bytes >= 2 * begin_entry_bytes_);
}

bool Checkpointing::due(std::uint64_t now_ms) const {
  const bool timed = options_.interval_ms != 0 && now_ms - begin_ms_ >= options_.interval_ms;
  return requested_ || pressed() || (timed && !put_off(now_ms));
}

void Checkpointing::begin(std::uint64_t now_ms) {
  by_time_ = !requested_ && !pressed() && !environment_.service.behind();
  requested_ = false;
  ends_.begin();
  begin_ms_ = now_ms;
  begin_bytes_ = environment_.disk.submitted_bytes();
  if (!marks_.begin()) {
    ends_.end_empty();
    return;
  }
  tally_ = {.now_ms = now_ms};
  log_debug(LogComponent::Disk,
            "a checkpoint begins{}",
            by_time_ ? ", as it is time" : ": asked for, or the log of record has grown");
  begin_lsn_ = environment_.disk.durable_lsn();
  cursor_ = 0;
  last_slice_ = false;
  state_ = State::Collecting;
}

std::size_t Checkpointing::collect(std::span<const consensus::PeerLiveness> peers) {
  const std::size_t before_bytes = slice_.batch().size_bytes();
  const bool none_held = collect_held();
  resumed_ = false;
  std::size_t row_count = 0;
  while (row_count < kRowsPerTurn && held_.size() < kHeldMax &&
         slice_.batch().size_bytes() - before_bytes < kBytesPerTurn) {
    cursor_ = marks_.next(cursor_);
    if (cursor_ == environment_.columns.row_count) {
      break;
    }
    ++row_count;
    if (!look_at(cursor_, peers)) {
      held_.push_back(cursor_);
      environment_.rows.touch(cursor_).held = true;
    }
    ++cursor_;
  }
  last_slice_ = cursor_ == environment_.columns.row_count && none_held && held_.empty();
  if (last_slice_ || slice_.batch().size_bytes() >= kSliceBytes) {
    if (last_slice_ && options_.covers_log) {
      slice_.batch().covers(begin_lsn_);
    }
    state_ = State::Handing;
    hand_over();
  }
  return row_count;
}

bool Checkpointing::at_rest(std::uint32_t row) const {
  const RowWork* work = environment_.rows.find(row);
  const bool apply_told = work == nullptr || work->applied == LogIndex{0};
  return environment_.columns.storage[row].request_pending == 0 && apply_told;
}

bool Checkpointing::collect_held() {
  std::erase_if(held_, [this](std::uint32_t row) {
    if (!at_rest(row)) {
      return false;
    }
    write_row(row);
    environment_.rows.touch(row).held = false;
    return true;
  });
  return held_.empty();
}

// False: the shard is not at rest.
bool Checkpointing::look_at(std::uint32_t row, std::span<const consensus::PeerLiveness> peers) {
  const bool changed = marks_.taken(row);
  if (changed && !at_rest(row)) {
    return false;
  }
  if (changed) {
    write_row(row);
  }
  if (environment_.log.held(row) == 0) {
    return true;
  }
  const LogIndex target = compaction_target(
      consensus::ShardRef(environment_.columns, row), peers, changed ? kEntriesKept : 0);
  if (target.value != 0) {
    environment_.rows.touch(row).compact_to = target;
  }
  return true;
}

void Checkpointing::write_row(std::uint32_t row) {
  slice_.add(row, environment_.disk.durable_lsn());
  ++tally_.shards;
  environment_.metrics.checkpoint_shards.add();
}

void Checkpointing::hand_over() {
  const std::size_t bytes = slice_.batch().size_bytes();
  if (slice_.batch().empty()) {
    end(Status{});
  } else if (environment_.disk.submit_checkpoint(std::move(slice_.batch()))) {
    tally_.bytes += bytes;
    slice_.batch().clear();
    state_ = State::Writing;
  }
}

void Checkpointing::take_result() {
  const auto result = environment_.disk.take_checkpoint_result();
  if (!result) {
    return;
  }
  if (!result->ok() || last_slice_) {
    end(*result);
  } else {
    state_ = State::Collecting;
    resumed_ = true;
  }
}

bool Checkpointing::shrink() {
  if (state_ != State::Idle || !std::exchange(grown_, false)) {
    return false;
  }
  slice_.shrink();
  return true;
}

void Checkpointing::end(const Status& status) {
  grown_ = true;
  const bool failed = !status.ok();
  if (failed) {
    marks_.give_back();
    for (const std::uint32_t row : held_) {
      environment_.rows.touch(row).held = false;
    }
    held_.clear();
    slice_.batch().clear();
  }
  ends_.end(status);
  tell(status);
  begin_entry_bytes_ = environment_.pool.used_bytes();
  (failed ? environment_.metrics.checkpoints_failed : environment_.metrics.checkpoints).add();
  state_ = State::Idle;
}

void Checkpointing::tell(const Status& status) const {
  if (!status.ok()) {
    return log_warning(LogComponent::Disk, "a checkpoint failed: {}", status.to_string());
  }
  log_debug(LogComponent::Disk,
            "a checkpoint of {} shards ends: {} bytes in {:.3f} s",
            tally_.shards,
            tally_.bytes,
            static_cast<double>(tally_.now_ms - begin_ms_) / 1000);
}

}  // namespace gcoord::server
