#include "ledger/history/worker.h"

#include "common/host/background_thread.h"
#include "ledger/base/error_details.h"

#include <chrono>
#include <utility>

namespace gcoord::ledger {
namespace {

constexpr std::uint64_t kKeepIntervalMs = 1000;
// As late as a reader may be without anybody minding, and few enough wakes of a thread a second
// that the loop beside it does not notice.
constexpr std::chrono::milliseconds kNap{2};
// What is worth ending a nap for.
constexpr std::size_t kNapBytesMax = kBatchBytesMax;

}  // namespace

HistoryWorker::HistoryWorker(std::shared_ptr<History> history, HistoryWorkerOptions options)
    : history_(std::move(history)),
      options_(std::move(options)),
      keeper_(options_.keep, options_.clues) {
  if (options_.metrics != nullptr) {
    MetricsRegistry& metrics = *options_.metrics;
    hashed_ = &metrics.counter(
        {"gcoord_ledger_history_entries_total", "Entries hashed into shards' trees.", "", ""});
    pruned_ = &metrics.counter(
        {"gcoord_ledger_history_pruned_total", "Entries pruned from history.", "", ""});
    disk_bytes_ = &metrics.gauge(
        {"gcoord_ledger_history_disk_bytes", "Disk space of the history store.", "", ""});
    pending_bytes_ = &metrics.gauge({"gcoord_ledger_history_pending_bytes",
                                     "History in memory that is not in the store yet.",
                                     "",
                                     ""});
    lag_ = &metrics.gauge(
        {"gcoord_ledger_history_lag_entries", "Entries applied and not hashed yet.", "", ""});
  }
  if (options_.driver == StorageDriver::Thread) {
    writer_ = std::make_unique<FlushWriter>(history_->store(), [this] {
      {
        const std::lock_guard lock(mutex_);
        napping_ = false;
      }
      wake_.notify_one();
    });
    thread_ = std::thread{[this] { run(); }};
  }
}

HistoryWorker::~HistoryWorker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  room_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void HistoryWorker::submit(Task task) {
  std::unique_lock lock(mutex_);
  room_.wait(lock,
             [this] { return queued_bytes_ < kQueuedBytesMax || !failure_.ok() || stopping_; });
  queued_bytes_ += task.bytes;
  napping_ = napping_ && !task.awaited && queued_bytes_ < kNapBytesMax;
  const bool wakes = !napping_;
  tasks_.push_back(std::move(task));
  if (options_.driver == StorageDriver::Owner) {
    work_on(lock);
  } else if (wakes) {
    lock.unlock();
    wake_.notify_one();
  }
}

void HistoryWorker::nap(std::unique_lock<std::mutex>& lock) {
  napping_ = true;
  wake_.wait_for(lock, kNap, [this] { return stopping_ || !napping_; });
  napping_ = false;
}

void HistoryWorker::append(std::shared_ptr<const HistoryEntries> batch) {
  const std::size_t count = batch->entries.size();
  const std::size_t bytes = batch->payload.size() + count * sizeof(HistoryEntry);
  queued_entries_.fetch_add(count, std::memory_order_relaxed);
  submit({[this, batch = std::move(batch), count] {
            GCOORD_TRY_STATUS(history_->append(batch));
            queued_entries_.fetch_sub(count, std::memory_order_relaxed);
            // Release: pairs with appended(); the sizes say what was hashed by then.
            appended_.fetch_add(1, std::memory_order_release);
            return advance_flush();
          },
          bytes});
}

std::uint64_t HistoryWorker::begin_at(ShardId shard, MerkleFrontier frontier) {
  submit({[this, shard, frontier = std::move(frontier)] {
    GCOORD_TRY_STATUS(history_->begin_at(shard, frontier));
    begun_.fetch_add(1, std::memory_order_release);
    return Status{};
  }});
  return ++begin_count_;
}

void HistoryWorker::align(std::vector<std::uint64_t> applied) {
  submit({[this, applied = std::move(applied)] { return history_->align(applied); }});
}

void HistoryWorker::forget(ShardId shard) {
  submit({[this, shard] { return history_->forget(shard); }});
}

void HistoryWorker::keep() {
  submit({[this] { return prune_some(); }});
}

Status HistoryWorker::settle() {
  auto done = std::make_shared<std::promise<Status>>();
  std::future<Status> flushed = done->get_future();
  submit({.work =
              [this, done = std::move(done)]() mutable {
                waiting_for_next_.push_back(std::move(done));
                return advance_flush();
              },
          .awaited = true});
  flushed.wait();
  GCOORD_TRY_STATUS(failure());
  try {
    return flushed.get();
  } catch (const std::future_error&) {
    return {
        StatusCode::Aborted, "the history was closed before all of it was stored", kHistoryFailed};
  }
}

struct HistoryWorker::Pruning {
  HistoryPruning order;
  std::function<void()> ended;
  std::promise<Result<PruneReport>> done;
};

std::future<Result<PruneReport>> HistoryWorker::prune(const PruneOrder& order,
                                                      std::function<void()> ended) {
  auto pruning = std::make_shared<Pruning>(
      Pruning{HistoryPruning{order, options_.clues}, std::move(ended), {}});
  auto report = pruning->done.get_future();
  submit({.work = [this, pruning] { return prune_on(pruning); }, .awaited = true});
  return report;
}

// Some shards at a time, so that no batch waits for long; what is left comes after what is queued.
Status HistoryWorker::prune_on(const std::shared_ptr<Pruning>& pruning) {
  const std::uint64_t now_ms = options_.wall_ms ? options_.wall_ms() : 0;
  bool ended = false;
  do {
    GCOORD_TRY(ended, pruning->order.advance(*history_, now_ms));
  } while (!ended && options_.driver == StorageDriver::Owner);
  if (!ended) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back({.work = [this, pruning] { return prune_on(pruning); }, .awaited = true});
    return {};
  }
  GCOORD_TRY_STATUS(history_->flush());
  history_->reclaim();
  pruning->done.set_value(pruning->order.report(*history_));
  pruning->ended();
  return {};
}

void HistoryWorker::fail(const Status& status) {
  const std::lock_guard lock(mutex_);
  failure_ = failure_.ok() ? status : failure_;
}

Status HistoryWorker::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

// Takes note of what was written, and begins what is due or waited for. Where as much again has
// come together while the store writes, it is slower than what comes, and is waited for.
Status HistoryWorker::advance_flush() {
  const bool due = history_->flush_due();
  if (writing_ != nullptr && (due || writing_->written())) {
    GCOORD_TRY_STATUS(end_flush());
  }
  return writing_ == nullptr && (due || !waiting_for_next_.empty()) ? begin_flush() : Status{};
}

Status HistoryWorker::begin_flush() {
  auto flush = history_->begin_flush();
  if (!flush.ok()) {
    answer(waiting_for_next_, flush.status());
    return flush.status();
  }
  writing_ = std::move(flush).value();
  waiting_for_it_ = std::move(waiting_for_next_);
  waiting_for_next_.clear();
  if (writing_ == nullptr) {
    answer(waiting_for_it_, {});
    return {};
  }
  if (writer_ != nullptr) {
    writer_->begin(writing_);
    return {};
  }
  static_cast<void>(writing_->write(history_->store()));
  return end_flush();
}

// History has ended it already where it had to wait for it itself.
Status HistoryWorker::end_flush() {
  const Status status = writing_->wait();
  if (status.ok() && history_->leaving() == writing_) {
    history_->end_flush();
  }
  writing_ = nullptr;
  answer(waiting_for_it_, status);
  return status;
}

void HistoryWorker::answer(Waiters& waiters, const Status& status) {
  fail(status);  // Before whoever waits may look.
  for (const auto& each : waiters) {
    each->set_value(status);
  }
  waiters.clear();
}

Status HistoryWorker::prune_some() {
  tell_metrics();
  return keeper_.advance(*history_, options_.wall_ms ? options_.wall_ms() : 0);
}

// Called and left with the lock, which it gives up while it works.
void HistoryWorker::work_on(std::unique_lock<std::mutex>& lock) {
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  work_unlocked(lock, task.work);
  queued_bytes_ -= task.bytes;
  room_.notify_all();
  lock.unlock();
  task.work = nullptr;  // What it held may be large; and a promise in it breaks.
  lock.lock();
}

void HistoryWorker::run() {
  make_background_thread();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, std::chrono::milliseconds(kKeepIntervalMs), [this] {
      return stopping_ || !tasks_.empty() || (writing_ != nullptr && writing_->written());
    });
    for (std::size_t left = tasks_.size(); left > 0 && !stopping_; --left) {
      work_on(lock);
    }
    nap(lock);
    work_unlocked(lock, [this] { return advance_flush(); });
    const std::uint64_t now_ms = options_.wall_ms ? options_.wall_ms() : 0;
    // Clocks may be set back.
    const bool due = now_ms - kept_ms_ >= kKeepIntervalMs;
    if (!stopping_ && due) {
      kept_ms_ = now_ms;
      work_unlocked(lock, [this] { return prune_some(); });
    }
    if (!failure_.ok()) {
      break_promises();
    }
  }
  tasks_.clear();
  break_promises();
}

// Nothing after a failure.
void HistoryWorker::work_unlocked(std::unique_lock<std::mutex>& lock,
                                  const std::function<Status()>& work) {
  if (!failure_.ok()) {
    return;
  }
  lock.unlock();
  const Status status = work();
  lock.lock();
  failure_ = failure_.ok() ? status : failure_;
}

// Whoever waits for a flush hears that there will be none. Nobody ends the one that is written now,
// if there is one: its end need not wake this thread again and again.
void HistoryWorker::break_promises() {
  writing_ = nullptr;
  waiting_for_it_.clear();
  waiting_for_next_.clear();
}

void HistoryWorker::tell_metrics() {
  if (hashed_ == nullptr) {
    return;
  }
  const HistoryCounts now = history_->counts();
  hashed_->add(now.hashed - told_.hashed);
  pruned_->add(now.pruned - told_.pruned);
  disk_bytes_->set(static_cast<std::int64_t>(history_->disk_bytes()));
  pending_bytes_->set(static_cast<std::int64_t>(history_->pending_bytes()));
  lag_->set(static_cast<std::int64_t>(lag_entries()));
  told_ = now;
}

}  // namespace gcoord::ledger
