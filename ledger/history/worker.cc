#include "ledger/history/worker.h"

#include "common/host/background_thread.h"
#include "common/host/thread_name.h"
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
      keeper_(options_.keep, options_.clues),
      flushes_(*history_, [this](const Status& status) { fail(status); }) {
  if (options_.metrics != nullptr) {
    metrics_.emplace(*options_.metrics);
  }
  if (options_.driver == StorageDriver::Thread) {
    flushes_.write_on_thread([this] {
      {
        const std::lock_guard lock(mutex_);
        napping_ = false;
      }
      wake_.notify_one();
    });
    thread_ = std::thread{[this] {
      name_this_thread("history");
      run();
    }};
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
            return flushes_.advance();
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

void HistoryWorker::bound(NodeBound node) {
  bytes_max_.store(node.bytes_max, std::memory_order_relaxed);
  submit({[this, node = std::move(node)] {
    keeper_.bound(node);
    return Status{};
  }});
}

Status HistoryWorker::settle() {
  auto done = std::make_shared<std::promise<Status>>();
  std::future<Status> flushed = done->get_future();
  submit({.work =
              [this, done = std::move(done)]() mutable {
                flushes_.wait_for_next(std::move(done));
                return flushes_.advance();
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

Status HistoryWorker::prune_some() {
  if (metrics_) {
    metrics_->update(*history_, lag_entries());
  }
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
      return stopping_ || !tasks_.empty() || flushes_.written();
    });
    for (std::size_t left = tasks_.size(); left > 0 && !stopping_; --left) {
      work_on(lock);
    }
    nap(lock);
    work_unlocked(lock, [this] { return flushes_.advance(); });
    const std::uint64_t now_ms = options_.wall_ms ? options_.wall_ms() : 0;
    // Clocks may be set back.
    const bool due = now_ms - kept_ms_ >= kKeepIntervalMs;
    if (!stopping_ && due) {
      kept_ms_ = now_ms;
      work_unlocked(lock, [this] { return prune_some(); });
    }
    if (!failure_.ok()) {
      flushes_.break_promises();
    }
  }
  tasks_.clear();
  flushes_.break_promises();
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

}  // namespace gcoord::ledger
