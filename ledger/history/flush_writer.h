// The thread that writes flushes of history to their store, one after the other.
//
// Host only. begin() by one thread; the callback comes on the writer's own.
#pragma once

#include "ledger/history/flush.h"
#include "ledger/history/store.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace gcoord::ledger {

class FlushWriter {
 public:
  // `written` is called after each flush, when its wait() does not wait any more.
  FlushWriter(HistoryStore& store, std::function<void()> written);

  // Writes what was begun first: somebody may wait for it.
  ~FlushWriter();
  FlushWriter(const FlushWriter&) = delete;
  FlushWriter& operator=(const FlushWriter&) = delete;

  // The one before is written.
  void begin(std::shared_ptr<HistoryFlush> flush);

 private:
  void run();

  HistoryStore& store_;
  std::function<void()> written_;
  std::mutex mutex_;  // Guards the next two.
  std::shared_ptr<HistoryFlush> next_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace gcoord::ledger
