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

Checkpointing::Checkpointing(const Options& options,
                             const Environment& environment,
                             std::uint64_t now_ms)
    : options_(options), environment_(environment), begin_ms_(now_ms), slice_(environment.service) {
  for (const Part& part : environment_.parts) {
    marks_.emplace_back(part.columns.row_count);
  }
}

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

std::uint64_t Checkpointing::entry_bytes() const {
  std::uint64_t bytes = 0;
  for (const Part& part : environment_.parts) {
    bytes += part.pool.used_bytes();
  }
  return bytes;
}

bool Checkpointing::pressed() const {
  const std::uint64_t entries = entry_bytes();
  return environment_.disk.submitted_bytes() - begin_bytes_ >= options_.wal_bytes ||
         (entries >= kEntryBytesMax && entries >= 2 * begin_entry_bytes_);
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
  bool any = false;
  for (CheckpointMarks& marks : marks_) {
    any |= marks.begin();
  }
  if (!any) {
    ends_.end_empty();
    return;
  }
  tally_ = {.now_ms = now_ms};
  log_debug(LogComponent::Disk,
            "a checkpoint begins{}",
            by_time_ ? ", as it is time" : ": asked for, or the log of record has grown");
  begin_lsn_ = environment_.disk.durable_lsn();
  cursor_ = {};
  last_slice_ = false;
  state_ = State::Collecting;
}

// Moves the cursor on to a row that this checkpoint visits; false: there are none left.
bool Checkpointing::seek() {
  for (; cursor_.part < marks_.size(); cursor_ = {cursor_.part + 1, 0}) {
    cursor_.row = marks_[cursor_.part].next(cursor_.row);
    if (cursor_.row < environment_.parts[cursor_.part].columns.row_count) {
      return true;
    }
  }
  return false;
}

std::size_t Checkpointing::collect(std::span<const consensus::PeerLiveness> peers) {
  const std::size_t before_bytes = slice_.batch().size_bytes();
  const bool none_held = collect_held();
  resumed_ = false;
  std::size_t row_count = 0;
  while (row_count < kRowsPerTurn && held_.size() < kHeldMax &&
         slice_.batch().size_bytes() - before_bytes < kBytesPerTurn) {
    if (!seek()) {
      break;
    }
    ++row_count;
    if (!look_at(cursor_, peers)) {
      held_.push_back(cursor_);
      work_of(cursor_).held = true;
    }
    ++cursor_.row;
  }
  last_slice_ = cursor_.part == marks_.size() && none_held && held_.empty();
  if (last_slice_ || slice_.batch().size_bytes() >= kSliceBytes) {
    if (last_slice_ && options_.covers_log) {
      slice_.batch().covers(begin_lsn_);
    }
    state_ = State::Handing;
    hand_over();
  }
  return row_count;
}

bool Checkpointing::at_rest(const Place& place) const {
  const Part& part = environment_.parts[place.part];
  const RowWork* work = part.rows.find(place.row);
  const bool apply_told = work == nullptr || work->applied == LogIndex{0};
  return part.columns.storage[place.row].request_pending == 0 && apply_told;
}

bool Checkpointing::collect_held() {
  std::erase_if(held_, [this](const Place& place) {
    if (!at_rest(place)) {
      return false;
    }
    write_row(place);
    work_of(place).held = false;
    return true;
  });
  return held_.empty();
}

// False: the shard is not at rest.
bool Checkpointing::look_at(const Place& place, std::span<const consensus::PeerLiveness> peers) {
  const Part& part = environment_.parts[place.part];
  const bool changed = marks_[place.part].taken(place.row);
  if (changed && !at_rest(place)) {
    return false;
  }
  if (changed) {
    write_row(place);
  }
  if (part.log.held(place.row) == 0) {
    return true;
  }
  const LogIndex target = compaction_target(
      consensus::ShardRef(part.columns, place.row), peers, changed ? kEntriesKept : 0);
  if (target.value != 0) {
    work_of(place).compact_to = target;
  }
  return true;
}

void Checkpointing::write_row(const Place& place) {
  const Part& part = environment_.parts[place.part];
  slice_.add({part.columns, part.log}, place.row, environment_.disk.durable_lsn());
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
    for (CheckpointMarks& marks : marks_) {
      marks.give_back();
    }
    for (const Place& place : held_) {
      work_of(place).held = false;
    }
    held_.clear();
    slice_.batch().clear();
  }
  ends_.end(status);
  tell(status);
  begin_entry_bytes_ = entry_bytes();
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
