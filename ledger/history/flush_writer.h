// The thread that writes flushes of history to their store, one after the other.
//
// Keeps the memory of a write for the next one, since a busy node writes tens of megabytes a
// second, and gives it back once no flush came for a while. Host only. begin() by one thread; the
// callback comes on the writer's own.
#pragma once

#include "ledger/history/flush.h"
#include "ledger/history/store.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace gcoord::ledger {

class FlushWriter {
 public:
  // No flush for so long: the node is not busy, and others need memory.
  static constexpr std::chrono::milliseconds kWarm{10'000};

  // `written` is called after each flush, when its wait() does not wait any more.
  FlushWriter(HistoryStore& store,
              std::function<void()> written,
              std::chrono::milliseconds warm = kWarm);

  // Writes what was begun first: somebody may wait for it.
  ~FlushWriter();
  FlushWriter(const FlushWriter&) = delete;
  FlushWriter& operator=(const FlushWriter&) = delete;

  // The one before is written.
  void begin(std::shared_ptr<HistoryFlush> flush);

 private:
  void run();
  void wait(std::unique_lock<std::mutex>& lock);

  HistoryStore& store_;
  std::function<void()> written_;
  std::chrono::milliseconds warm_;
  HistoryBatch batch_;  // Of the thread.
  std::mutex mutex_;    // Guards the next two.
  std::shared_ptr<HistoryFlush> next_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace gcoord::ledger
