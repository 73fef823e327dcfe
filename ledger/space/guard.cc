#include "ledger/space/guard.h"

#include "common/assert.h"
#include "ledger/base/error_details.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>

namespace gcoord::ledger {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kReserveBytesMax = 192 * kMiB;
constexpr std::uint64_t kReserveShare = 16;
// Identity, keys, what was signed last: some of a few MiB each, written beside the old ones.
constexpr std::uint64_t kFloorBytesMax = 16 * kMiB;
constexpr std::uint64_t kFloorShare = 8;  // Of the low-water mark.
// A disk that writes 1 GiB a second takes half of the low-water mark in as long.
constexpr std::chrono::milliseconds kLookEvery{100};

std::int64_t gauge_value(std::uint64_t bytes) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(bytes, kMax));
}

Status no_room(std::uint64_t free_bytes) {
  return {StatusCode::ResourceExhausted,
          "the disk of the data directory is full, " + std::to_string(free_bytes >> 10) +
              " KiB are free; free space there and start the node again",
          kDiskFull};
}

}  // namespace

SpaceMarks space_marks(std::uint64_t total_bytes) {
  const std::uint64_t reserve = std::min(kReserveBytesMax, total_bytes / kReserveShare);
  return {.reserve_bytes = reserve,
          .low_bytes = reserve,
          .floor_bytes = std::min(kFloorBytesMax, reserve / kFloorShare)};
}

struct SpaceGuard::Metrics {
  explicit Metrics(MetricsRegistry& registry)
      : free_bytes(registry.gauge({"gcoord_ledger_disk_free_bytes",
                                   "Free space on the file system of the data directory.",
                                   "",
                                   ""})),
        reserve_bytes(registry.gauge({"gcoord_ledger_disk_reserve_bytes",
                                      "Space that the node holds in reserve; 0 once it is used.",
                                      "",
                                      ""})),
        low(registry.gauge({"gcoord_ledger_disk_low",
                            "1 while the disk is too full for new locks and sessions.",
                            "",
                            ""})),
        held_writes(registry.counter({"gcoord_ledger_disk_held_writes_total",
                                      "Writes of tables and log segments that waited for space.",
                                      "",
                                      ""})) {}

  Gauge& free_bytes;
  Gauge& reserve_bytes;
  Gauge& low;
  Counter& held_writes;
};

SpaceGuard::SpaceGuard(SpaceGuardOptions options) : options_(std::move(options)) {
  if (options_.metrics != nullptr) {
    metrics_ = std::make_unique<Metrics>(*options_.metrics);
  }
}

SpaceGuard::~SpaceGuard() {
  stop();
}

Status SpaceGuard::open(std::unique_ptr<Disk> disk) {
  const std::lock_guard lock(mutex_);
  GCOORD_ASSERT(disk_ == nullptr);
  GCOORD_TRY(space_, disk->space());
  disk_ = std::move(disk);
  marks_ = options_.marks.value_or(space_marks(space_.total_bytes));
  GCOORD_ASSERT(marks_.floor_bytes <= marks_.low_bytes / 2);
  take_up();
  look_now();
  if (!fits(0)) {
    return no_room(space_.free_bytes);
  }
  if (options_.driver == StorageDriver::Thread) {
    thread_ = std::thread{[this] { run(); }};
  }
  return Status{};
}

// A reserve of another size is of another disk, or was not finished.
void SpaceGuard::take_up() {
  const auto file = disk_->open(kReserveName);
  if (!file.ok()) {
    return;
  }
  const auto size_bytes = file.value()->size_bytes();
  held_ = size_bytes.ok() && size_bytes.value() == marks_.reserve_bytes;
  if (!held_) {
    give_out();
  }
}

void SpaceGuard::look() {
  const std::lock_guard lock(mutex_);
  if (disk_ != nullptr) {
    look_now();
  }
}

void SpaceGuard::look_now() {
  const auto found = disk_->space();
  if (!found.ok()) {
    return;  // What was seen last counts.
  }
  space_ = found.value();
  const std::uint64_t enough_bytes = marks_.low_bytes + marks_.low_bytes / 4;
  if (held_ && space_.free_bytes < marks_.low_bytes / 2) {
    give_out();
  } else if (!held_ && space_.free_bytes >= marks_.reserve_bytes + enough_bytes) {
    fill();
  }
  const std::uint64_t needed_bytes = is_low() ? enough_bytes : marks_.low_bytes;
  low_.store(!held_ || space_.free_bytes < needed_bytes, std::memory_order_relaxed);
  tell();
}

void SpaceGuard::tell() {
  const SpaceReport now{.free_bytes = space_.free_bytes,
                        .total_bytes = space_.total_bytes,
                        .reserve_bytes = held_ ? marks_.reserve_bytes : 0,
                        .low_bytes = marks_.low_bytes,
                        .low = is_low()};
  if (metrics_) {
    metrics_->free_bytes.set(gauge_value(now.free_bytes));
    metrics_->reserve_bytes.set(gauge_value(now.reserve_bytes));
    metrics_->low.set(now.low ? 1 : 0);
  }
  const std::lock_guard lock(report_mutex_);
  report_ = now;
}

// Where the file cannot be removed, nothing is won, and the next look tries again.
void SpaceGuard::give_out() {
  held_ = !disk_->remove(kReserveName).ok();
  if (const auto found = disk_->space(); found.ok()) {
    space_ = found.value();
  }
}

// Whoever took the space meanwhile has it: the next look finds out.
void SpaceGuard::fill() {
  held_ = disk_->create(kReserveName, marks_.reserve_bytes).ok();
  if (!held_) {
    (void)disk_->remove(kReserveName);
  }
  if (const auto found = disk_->space(); found.ok()) {
    space_ = found.value();
  }
}

bool SpaceGuard::fits(std::uint64_t byte_count) const {
  return space_.free_bytes >= marks_.floor_bytes &&
         space_.free_bytes - marks_.floor_bytes >= byte_count;
}

bool SpaceGuard::has(std::uint64_t byte_count) {
  const std::lock_guard lock(mutex_);
  if (disk_ == nullptr) {
    return true;
  }
  look_now();
  return !is_low() && space_.free_bytes - marks_.low_bytes >= byte_count;
}

Status SpaceGuard::await(std::uint64_t byte_count) {
  std::unique_lock lock(mutex_);
  if (disk_ == nullptr) {
    return Status{};
  }
  for (bool waited = false;; waited = true) {
    look_now();
    if (!fits(byte_count) && held_) {
      give_out();
      tell();
    }
    if (fits(byte_count)) {
      return Status{};
    }
    if (options_.driver == StorageDriver::Owner) {
      return no_room(space_.free_bytes);
    }
    if (stopping_) {
      return {StatusCode::Aborted, "the node ends while its disk is full", kDiskFull};
    }
    if (!waited && metrics_) {
      metrics_->held_writes.add();
    }
    wake_.wait_for(lock, kLookEvery, [this] { return stopping_; });
  }
}

SpaceReport SpaceGuard::report() const {
  const std::lock_guard lock(report_mutex_);
  return report_;
}

void SpaceGuard::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void SpaceGuard::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, kLookEvery, [this] { return stopping_; });
    if (!stopping_) {
      look_now();
    }
  }
}

}  // namespace gcoord::ledger
