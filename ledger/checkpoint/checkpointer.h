// The thread that writes checkpoints, so that no turn waits for RocksDB.
//
// One checkpoint at a time: submit hands a batch over, the thread writes it, then lets the log drop
// the segments it covers, then says so. submit and take_done are for one thread, the server's loop.
// A failed checkpoint loses nothing: the log keeps its segments; the Status goes to the caller, who
// decides whether to stop (a full disk will fail the log soon after) or to try the next one.
#pragma once

#include "common/host/metrics.h"
#include "ledger/checkpoint/checkpoint_store.h"
#include "ledger/disk/storage_driver.h"
#include "ledger/wal/writer.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace gcoord::ledger {

struct CheckpointerOptions {
  MetricsRegistry* metrics = nullptr;  // Else gcoord_ledger_checkpoint_* is registered.
  StorageDriver driver = StorageDriver::Thread;
  // Called before each write: what has to be durable before it. Empty: nothing.
  std::function<Status()> before_write;
};

class Checkpointer {
 public:
  // Both must outlive it. `writer` is nullptr where there is no log to cover.
  Checkpointer(CheckpointStore& store, WalWriter* writer, CheckpointerOptions options);

  // Finishes the batch in hand and joins the thread.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Takes the batch when the thread is free and returns true; otherwise leaves it and returns
  // false. The lsn it covers, if any, is durable in the log (WalWriter::durable_lsn) at the time of
  // the call.
  bool submit(CheckpointBatch&& batch);

  // The result of the last batch, once; empty while it is being written.
  std::optional<Status> take_done();

  // With StorageDriver::Owner: writes the batch in hand. False: there is none.
  bool advance();

  // A batch is in hand and not written.
  bool busy();

  // Readable (eventfd, non-blocking) when a result waits; the reader reads 8 bytes to rearm it.
  int event_fd() const { return event_fd_; }

 private:
  void run();
  void write_batch(std::unique_lock<std::mutex>& lock);
  Status persist();

  CheckpointStore& store_;
  WalWriter* writer_;
  std::function<Status()> before_write_;
  Counter* written_ = nullptr;
  Counter* written_bytes_ = nullptr;
  int event_fd_ = -1;

  CheckpointBatch batch_;  // The thread's while busy_, else the caller's to replace.

  std::mutex mutex_;  // Guards all below.
  std::condition_variable wake_;
  std::optional<Status> done_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gcoord::ledger
