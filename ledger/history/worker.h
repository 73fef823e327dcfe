// The thread that hashes and keeps history, so that no turn does.
//
// A turn hands over what it applied and goes on; the thread hashes it, has it written to the store
// when enough has come together, and prunes. It is not woken for every turn: having worked it naps
// a moment and then takes what has come meanwhile. Another thread writes (flush_writer.h), so that
// trees grow while a million shards go to the disk. settle() is what makes a checkpoint wait:
// everything handed over before is durable when it returns. With StorageDriver::Owner there is no
// thread: each call does its work at once, which is what a simulation wants.
//
// What is handed over and not hashed is bounded: beyond kQueuedBytesMax the caller waits, since a
// node that cannot keep its history must not run ahead of it. A failure is final: nothing is done
// any more, and the node stops.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "ledger/disk/storage_driver.h"
#include "ledger/history/flush_cycle.h"
#include "ledger/history/history.h"
#include "ledger/history/history_metrics.h"
#include "ledger/history/keeping.h"
#include "ledger/history/pruning.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace gcoord::ledger {

// Some seconds of work.
inline constexpr std::size_t kQueuedBytesMax = std::size_t{256} << 20;

struct HistoryWorkerOptions {
  StorageDriver driver = StorageDriver::Thread;
  KeepPolicy keep;
  HistoryKeeper::Clues clues;
  std::function<std::uint64_t()>
      wall_ms;                         // Unix milliseconds: of pruning; empty: no thread prunes.
  MetricsRegistry* metrics = nullptr;  // Else gcoord_ledger_history_* is registered.
};

class HistoryWorker {
 public:
  HistoryWorker(std::shared_ptr<History> history, HistoryWorkerOptions options);

  // Does not wait for what is queued: it comes again from the log of record.
  ~HistoryWorker();
  HistoryWorker(const HistoryWorker&) = delete;
  HistoryWorker& operator=(const HistoryWorker&) = delete;

  // --- One thread, the node's loop; as in history.h, in the order of the calls.

  void append(std::shared_ptr<const HistoryEntries> batch);
  // How many calls there were of it.
  std::uint64_t begin_at(ShardId shard, MerkleFrontier frontier);
  void align(std::vector<std::uint64_t> applied);
  void forget(ShardId shard);
  // Prunes a bounded number of shards, as the thread does about once a second.
  void keep();
  // Bounds all shards together from now on; what `node` calls outlives this.
  void bound(NodeBound node);

  // --- Any thread.

  // Returns when everything that was handed over before is durable, or why it is not.
  Status settle();

  // Begins to let go of what an order names, beside what the policy does; ready when that is
  // durable. `ended` is called then, by the thread. A broken promise: the worker failed, or ended.
  std::future<Result<PruneReport>> prune(const PruneOrder& order, std::function<void()> ended);

  Status failure() const;

  // Calls of append() whose batch is hashed.
  std::uint64_t appended() const { return appended_.load(std::memory_order_acquire); }

  // Calls of begin_at() that are done.
  std::uint64_t begun() const { return begun_.load(std::memory_order_acquire); }

  // Entries that were handed over and are not hashed.
  std::uint64_t lag_entries() const { return queued_entries_.load(std::memory_order_relaxed); }

  const std::shared_ptr<History>& history() const { return history_; }

  const KeepPolicy& policy() const { return options_.keep; }

  // Of all shards together; 0: no bound.
  std::uint64_t bytes_max() const { return bytes_max_.load(std::memory_order_relaxed); }

 private:
  struct Task {
    std::function<Status()> work;
    std::size_t bytes = 0;
    bool awaited = false;  // Somebody waits for it.
  };

  struct Pruning;

  void submit(Task task);
  Status prune_on(const std::shared_ptr<Pruning>& pruning);
  void run();
  void fail(const Status& status);
  void nap(std::unique_lock<std::mutex>& lock);
  void work_on(std::unique_lock<std::mutex>& lock);
  void work_unlocked(std::unique_lock<std::mutex>& lock, const std::function<Status()>& work);
  Status prune_some();

  std::shared_ptr<History> history_;
  HistoryWorkerOptions options_;
  HistoryKeeper keeper_;
  std::atomic<std::uint64_t> appended_{0};
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> queued_entries_{0};
  std::atomic<std::uint64_t> bytes_max_{0};
  std::uint64_t begin_count_ = 0;
  std::optional<HistoryMetrics> metrics_;
  std::uint64_t kept_ms_ = 0;  // Of the thread: when it pruned last.

  mutable std::mutex mutex_;  // Guards all below but flushes_.
  std::condition_variable wake_;
  std::condition_variable room_;
  std::deque<Task> tasks_;
  std::size_t queued_bytes_ = 0;
  Status failure_;
  bool napping_ = false;
  bool stopping_ = false;
  FlushCycle flushes_;  // Of the thread; ends after it, and before what its writer wakes.
  std::thread thread_;
};

}  // namespace gcoord::ledger
