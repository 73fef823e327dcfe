#include "ledger/wal/writer.h"

#include "common/assert.h"
#include "common/host/thread_name.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace gcoord::ledger {

namespace {

// A record grows to this size while the one before it is being written; what comes then is another
// record. Far under the limit of the format, far over what one sync should carry.
constexpr std::size_t kRecordBytes = std::size_t{64} << 20;

}  // namespace

struct WalWriter::Metrics {
  explicit Metrics(MetricsRegistry& registry)
      : sync_us(registry.histogram(
            {"gcoord_ledger_wal_sync_seconds", "Time to write and persist one record.", "", ""})),
        bytes(registry.counter(
            {"gcoord_ledger_wal_bytes_total", "Bytes written to the log of record.", "", ""})),
        records(registry.counter(
            {"gcoord_ledger_wal_records_total", "Records persisted, one per sync.", "", ""})),
        items(registry.counter(
            {"gcoord_ledger_wal_items_total", "Items persisted in these records.", "", ""})),
        segments(registry.gauge(
            {"gcoord_ledger_wal_segments", "Segment files of the log of record.", "", ""})) {}

  Histogram& sync_us;
  Counter& bytes;
  Counter& records;
  Counter& items;
  Gauge& segments;
};

WalWriter::WalWriter(std::unique_ptr<Wal> wal, WalWriterOptions options)
    : wal_(std::move(wal)), options_(std::move(options)) {
  GCOORD_ASSERT(wal_ != nullptr);
  if (options_.metrics != nullptr) {
    metrics_ = std::make_unique<Metrics>(*options_.metrics);
    tell_segments();
  }
  event_fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  GCOORD_ASSERT(event_fd_ >= 0);
  durable_lsn_.store(wal_->durable_lsn().value, std::memory_order_release);
  queued_lsn_ = wal_->last_lsn() + 1;
  wal_->while_full([this] { return drop(); });
  if (options_.driver == StorageDriver::Thread) {
    thread_ = std::thread{[this] {
      name_this_thread("log");
      run();
    }};
  }
}

WalWriter::~WalWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  } else if (!ended_) {
    run();
  }
  ::close(event_fd_);
}

Lsn WalWriter::submit(WalBatch&& batch) {
  GCOORD_ASSERT(!batch.empty());
  Lsn lsn;
  {
    const std::lock_guard lock(mutex_);
    if (queued_.encoded().size() + batch.encoded().size() > kRecordBytes && !queued_.empty()) {
      full_bytes_ += queued_.encoded().size();
      full_.push_back(std::exchange(queued_, WalBatch{}));
      ++queued_lsn_;
    }
    if (queued_.empty()) {
      std::swap(queued_, batch);
    } else {
      queued_.append(batch);
    }
    queued_bytes_.store(full_bytes_ + queued_.encoded().size(), std::memory_order_relaxed);
    lsn = queued_lsn_;
  }
  batch.clear();
  wake_.notify_one();
  return lsn;
}

std::optional<Status> WalWriter::take_failure() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failure_, std::nullopt);
}

void WalWriter::drop_through(Lsn lsn) {
  {
    const std::lock_guard lock(mutex_);
    drop_lsn_ = max_id(drop_lsn_, lsn);
  }
  wake_.notify_one();
}

void WalWriter::run() {
  while (run_once()) {
  }
}

bool WalWriter::advance() {
  GCOORD_ASSERT(options_.driver == StorageDriver::Owner);
  if (ended_ || (queued_.empty() && drop_lsn_ == Lsn{0} && sealed_)) {
    return false;
  }
  ended_ = !run_once();
  return !ended_;
}

void WalWriter::take_record() {
  if (!full_.empty()) {
    writing_ = std::move(full_.front());
    full_.pop_front();
    full_bytes_ -= writing_.encoded().size();
  } else if (!queued_.empty()) {
    std::swap(queued_, writing_);
    ++queued_lsn_;
  }
  queued_bytes_.store(full_bytes_ + queued_.encoded().size(), std::memory_order_relaxed);
}

bool WalWriter::run_once() {
  bool idle = false;
  bool stopping = false;
  {
    std::unique_lock lock(mutex_);
    wait_for_work(lock);
    take_record();
    idle = writing_.empty() && drop_lsn_ == Lsn{0};
    stopping = stopping_;
  }
  Status status;
  if (!writing_.empty()) {
    status = persist(writing_);
    writing_.clear();
  } else if (idle) {
    status = wal_->seal();  // Idle for seal_delay, or stopping.
    sealed_ = true;
  }
  if (status.ok()) {
    status = drop();
  }
  if (!status.ok()) {
    fail(std::move(status));
    return false;
  }
  tell_segments();
  return !stopping || !sealed_;
}

void WalWriter::tell_segments() const {
  if (metrics_ != nullptr) {
    metrics_->segments.set(static_cast<std::int64_t>(wal_->segment_count()));
  }
}

Status WalWriter::drop() {
  Lsn lsn;
  {
    const std::lock_guard lock(mutex_);
    lsn = std::exchange(drop_lsn_, Lsn{0});
  }
  if (lsn == Lsn{0}) {
    return Status{};
  }
  const std::size_t before = wal_->segment_count();
  GCOORD_TRY_STATUS(wal_->drop_through(lsn));
  dropped_segments_.fetch_add(before - wal_->segment_count(), std::memory_order_relaxed);
  tell_segments();
  return Status{};
}

// Returns when something is queued, a drop is asked for, the end has come, or it is time to seal.
void WalWriter::wait_for_work(std::unique_lock<std::mutex>& lock) {
  if (options_.driver == StorageDriver::Owner) {
    return;
  }
  const auto has_work = [this] { return !queued_.empty() || drop_lsn_ > Lsn{0} || stopping_; };
  if (sealed_) {
    wake_.wait(lock, has_work);
  } else {
    wake_.wait_for(lock, options_.seal_delay, has_work);
  }
}

Status WalWriter::persist(const WalBatch& batch) {
  const std::uint64_t start_us = options_.clock_us ? options_.clock_us() : 0;
  const std::uint64_t bytes_before = wal_->appended_bytes();
  sealed_ = false;
  GCOORD_TRY(const Lsn lsn, wal_->append(batch));
  GCOORD_TRY_STATUS(wal_->sync());
  if (metrics_ != nullptr) {
    metrics_->bytes.add(wal_->appended_bytes() - bytes_before);
    metrics_->records.add();
    metrics_->items.add(batch.item_count());
    if (options_.clock_us) {
      metrics_->sync_us.observe_us(options_.clock_us() - start_us);
    }
  }
  // Release: pairs with the acquire in durable_lsn().
  durable_lsn_.store(lsn.value, std::memory_order_release);
  signal();
  return Status{};
}

void WalWriter::fail(Status status) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(status);
  }
  signal();
}

void WalWriter::signal() const {
  const std::uint64_t one = 1;
  // Fails only when 2^64 - 2 signals were not read; the descriptor is readable then all the same.
  [[maybe_unused]] const auto written = ::write(event_fd_, &one, sizeof one);
}

}  // namespace gcoord::ledger
