#include "ledger/checkpoint/checkpointer.h"

#include "common/assert.h"
#include "common/host/background_thread.h"
#include "common/host/thread_name.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace gcoord::ledger {

Checkpointer::Checkpointer(CheckpointStore& store, WalWriter* writer, CheckpointerOptions options)
    : store_(store), writer_(writer), before_write_(std::move(options.before_write)) {
  if (options.metrics != nullptr) {
    written_ = &options.metrics->counter(
        {"gcoord_ledger_checkpoint_writes_total", "Checkpoint batches persisted.", "", ""});
    written_bytes_ = &options.metrics->counter(
        {"gcoord_ledger_checkpoint_bytes_total", "Bytes of these batches.", "", ""});
  }
  event_fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  GCOORD_ASSERT(event_fd_ >= 0);
  if (options.driver == StorageDriver::Thread) {
    thread_ = std::thread{[this] { run(); }};
  }
}

Checkpointer::~Checkpointer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  } else {
    advance();
  }
  ::close(event_fd_);
}

bool Checkpointer::submit(CheckpointBatch&& batch) {
  GCOORD_ASSERT(!batch.empty());
  GCOORD_ASSERT(writer_ == nullptr || batch.lsn() <= writer_->durable_lsn());
  {
    const std::lock_guard lock(mutex_);
    if (busy_) {
      return false;
    }
    busy_ = true;
    std::swap(batch_, batch);
    done_.reset();
  }
  batch.clear();
  wake_.notify_one();
  return true;
}

std::optional<Status> Checkpointer::take_done() {
  const std::lock_guard lock(mutex_);
  return std::exchange(done_, std::nullopt);
}

void Checkpointer::run() {
  name_this_thread("checkpoint");
  make_background_thread();
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return busy_ || stopping_; });
    if (!busy_) {
      return;
    }
    write_batch(lock);
  }
}

void Checkpointer::write_batch(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  // The batch is the thread's while busy.
  Status status = persist();
  lock.lock();
  busy_ = false;
  done_ = std::move(status);
  const std::uint64_t one = 1;
  // Fails only when 2^64 - 2 signals were not read; the descriptor is readable then all the same.
  [[maybe_unused]] const auto written = ::write(event_fd_, &one, sizeof one);
}

bool Checkpointer::advance() {
  std::unique_lock lock(mutex_);
  const bool has_batch = busy_;
  if (has_batch) {
    write_batch(lock);
  }
  return has_batch;
}

bool Checkpointer::busy() {
  const std::lock_guard lock(mutex_);
  return busy_;
}

Status Checkpointer::persist() {
  if (before_write_) {
    GCOORD_TRY_STATUS(before_write_());
  }
  GCOORD_TRY_STATUS(store_.write(batch_));
  if (written_ != nullptr) {
    written_->add();
    written_bytes_->add(batch_.size_bytes());
  }
  if (batch_.lsn() > Lsn{0} && writer_ != nullptr) {
    writer_->drop_through(batch_.lsn());
  }
  return Status{};
}

}  // namespace gcoord::ledger
