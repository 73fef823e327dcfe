#include "ledger/history/flush_writer.h"

#include "common/assert.h"
#include "common/host/background_thread.h"

#include <utility>

namespace gcoord::ledger {

FlushWriter::FlushWriter(HistoryStore& store, std::function<void()> written)
    : store_(store), written_(std::move(written)), thread_([this] { run(); }) {}

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

void FlushWriter::run() {
  make_background_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || next_ != nullptr; });
    if (next_ == nullptr) {
      return;
    }
    const std::shared_ptr<HistoryFlush> flush = std::move(next_);
    next_ = nullptr;
    lock.unlock();
    static_cast<void>(flush->write(store_));  // Whoever ends the flush asks what came of it.
    written_();
    lock.lock();
  }
}

}  // namespace gcoord::ledger
