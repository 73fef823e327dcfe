// The one thread that writes the log of record, and group commit.
//
// A turn submits its batch and goes on. What is submitted while a sync runs becomes the next single
// record: one write and one fdatasync, however many turns it came from. So the writer never waits
// to fill a batch, and batches grow by themselves when the disk is slow. When nothing more is
// queued for seal_delay, the writer seals the log (wal.h) with one more fdatasync.
//
// submit, durable_lsn, drop_through, take_failure and the counters may be called from any thread.
// A submitted batch is acknowledged when durable_lsn() >= the lsn that submit returned. After a
// failure durable_lsn stands still for ever, take_failure() says why once, and nothing is retried:
// the caller stops the process without acknowledging anything more.
#pragma once

#include "common/host/metrics.h"
#include "ledger/disk/storage_driver.h"
#include "ledger/wal/wal.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace gcoord::ledger {

struct WalWriterOptions {
  // Registers gcoord_ledger_wal_*; nullptr for none.
  MetricsRegistry* metrics = nullptr;
  // Microseconds that only grow, for the histogram of sync times; empty for none.
  std::function<std::uint64_t()> clock_us;
  // 100 ms: far over the gap between the turns of a busy node, so sealing costs an idle disk only.
  std::chrono::milliseconds seal_delay{100};
  StorageDriver driver = StorageDriver::Thread;
};

class WalWriter {
 public:
  // Takes a freshly opened log and starts the thread, if there is to be one.
  WalWriter(std::unique_ptr<Wal> wal, WalWriterOptions options);

  // Persists what was submitted, seals, and joins the thread.
  ~WalWriter();
  WalWriter(const WalWriter&) = delete;
  WalWriter& operator=(const WalWriter&) = delete;

  // Queues the batch, which is not empty, and returns the lsn of the record it will be part of;
  // several submits may share one. The batch comes back empty with warm memory.
  Lsn submit(WalBatch&& batch);

  // Acquire: pairs with the writer's release after the sync returned.
  Lsn durable_lsn() const { return Lsn{durable_lsn_.load(std::memory_order_acquire)}; }

  // Readable (eventfd, non-blocking) after durable_lsn rose or a failure; the reader reads 8 bytes
  // to rearm it.
  int event_fd() const { return event_fd_; }

  // The failure that stopped the writer; empty while there is none and once it was taken.
  std::optional<Status> take_failure();

  // Asks the thread to drop the segments that a durable checkpoint covers (Wal::drop_through).
  void drop_through(Lsn lsn);

  // With StorageDriver::Owner: does what the thread would do next, the seal of an idle log included
  // (seal_delay is the owner's affair). False: there is nothing to do, or it has failed.
  bool advance();

  // Bytes submitted and not yet being written; the caller slows down when it grows.
  std::uint64_t queued_bytes() const { return queued_bytes_.load(std::memory_order_relaxed); }

  // Segments that were dropped in this life.
  std::uint64_t dropped_segments() const {
    return dropped_segments_.load(std::memory_order_relaxed);
  }

 private:
  struct Metrics;

  void run();
  // One pass: writes what is queued, drops what may go. False when the thread is to end.
  bool run_once();
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  // Moves the oldest record to writing_. Called with the mutex held.
  void take_record();
  Status persist(const WalBatch& batch);
  void fail(Status status);
  void signal() const;

  std::unique_ptr<Wal> wal_;  // Touched by the thread only, once it runs.
  WalWriterOptions options_;
  std::unique_ptr<Metrics> metrics_;
  int event_fd_ = -1;
  std::atomic<std::uint64_t> durable_lsn_{0};
  std::atomic<std::uint64_t> queued_bytes_{0};
  std::atomic<std::uint64_t> dropped_segments_{0};

  std::mutex mutex_;  // Guards all below.
  std::condition_variable wake_;
  // Records that take no more, oldest first: the disk is far behind. queued_ is not empty then.
  std::deque<WalBatch> full_;
  std::size_t full_bytes_ = 0;
  WalBatch queued_;
  Lsn queued_lsn_;  // Of the record that queued_ will become.
  Lsn drop_lsn_;
  bool stopping_ = false;
  std::optional<Status> failure_;

  WalBatch writing_;  // The thread's own half of the double buffer.
  bool sealed_ = true;
  bool ended_ = false;  // Of StorageDriver::Owner: a failure, after which nothing is tried again.
  std::thread thread_;
};

}  // namespace gcoord::ledger
