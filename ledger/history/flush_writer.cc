#include "ledger/history/flush_writer.h"

#include "common/assert.h"
#include "common/host/background_thread.h"
#include "common/host/thread_name.h"

#include <utility>

namespace gcoord::ledger {

FlushWriter::FlushWriter(HistoryStore& store,
                         std::function<void()> written,
                         std::chrono::milliseconds warm)
    : store_(store), written_(std::move(written)), warm_(warm), thread_([this] { run(); }) {}

FlushWriter::~FlushWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void FlushWriter::begin(std::shared_ptr<HistoryFlush> flush) {
  {
    const std::lock_guard lock(mutex_);
    GCOORD_ASSERT(next_ == nullptr);
    next_ = std::move(flush);
  }
  wake_.notify_one();
}

void FlushWriter::wait(std::unique_lock<std::mutex>& lock) {
  const auto called = [this] { return stopping_ || next_ != nullptr; };
  if (!wake_.wait_for(lock, warm_, called)) {
    batch_ = {};
    lock.unlock();
    store_.release_memory();
    lock.lock();
    wake_.wait(lock, called);
  }
}

void FlushWriter::run() {
  name_this_thread("history-flush");
  make_background_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    wait(lock);
    if (next_ == nullptr) {
      return;
    }
    const std::shared_ptr<HistoryFlush> flush = std::move(next_);
    next_ = nullptr;
    lock.unlock();
    // Whoever ends the flush asks what came of it.
    static_cast<void>(flush->write(store_, batch_));
    written_();
    lock.lock();
  }
}

}  // namespace gcoord::ledger
