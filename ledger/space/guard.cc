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
// What a try takes for a moment, where it is refused in the end, is missed by whoever writes then.
constexpr std::uint32_t kPauseLooks = 20;

std::int64_t gauge_value(std::uint64_t bytes) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(bytes, kMax));
}

Status no_room(const DiskSpace& space) {
  const bool files = space.free_files < kFilesLow;
  return {StatusCode::ResourceExhausted,
          "the disk of the data directory is full, " + std::to_string(space.free_bytes >> 10) +
              " KiB" + (files ? " and " + std::to_string(space.free_files) + " files" : "") +
              " are free; free space there and start the node again",
          kDiskFull};
}

bool make_reserve(Disk& disk, std::uint64_t size_bytes) {
  const bool made = disk.create(kReserveName, size_bytes).ok();
  if (!made) {
    static_cast<void>(disk.remove(kReserveName).ok());
  }
  return made;
}

// Free space with which the disk is low no more.
std::uint64_t enough_of(const SpaceMarks& marks) {
  return marks.low_bytes + marks.low_bytes / 4;
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
  std::unique_lock lock(mutex_);
  GCOORD_ASSERT(disk_ == nullptr);
  GCOORD_TRY(space_, disk->space());
  disk_ = std::move(disk);
  marks_ = options_.marks.value_or(space_marks(space_.total_bytes));
  GCOORD_ASSERT(marks_.floor_bytes <= marks_.low_bytes / 2);
  take_up();
  look_now();
  fill_if_due(lock);
  if (!fits(0, {})) {
    return no_room(space_);
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
    return give_out();
  }
  // One with holes was copied, and holds nothing.
  const auto allocated_bytes = file.value()->allocated_bytes();
  if (allocated_bytes.ok() && allocated_bytes.value() < marks_.reserve_bytes) {
    held_ = make_reserve(*disk_, marks_.reserve_bytes);
  }
}

void SpaceGuard::look() {
  std::unique_lock lock(mutex_);
  if (disk_ != nullptr) {
    look_now();
    fill_if_due(lock);
  }
}

void SpaceGuard::look_now() {
  measure();
  if (held_ && space_.free_bytes < marks_.low_bytes / 2) {
    give_out();
  }
  low_.store(!held_ || !has_enough(), std::memory_order_relaxed);
  tell();
}

// A disk that is low has to get a quarter more than the mark.
bool SpaceGuard::has_enough() const {
  const std::uint64_t bytes = is_low() ? enough_of(marks_) : marks_.low_bytes;
  const std::uint64_t files = is_low() ? kFilesLow + kFilesLow / 4 : kFilesLow;
  return space_.free_bytes >= bytes && space_.free_files >= files;
}

// What was seen last counts where the disk does not say.
void SpaceGuard::measure() {
  if (const auto found = disk_->space(); found.ok()) {
    space_ = found.value();
  }
}

void SpaceGuard::tell() {
  const SpaceReport now{.free_bytes = space_.free_bytes,
                        .free_files = space_.free_files,
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
  measure();
}

// Without the mutex, because a large file takes a slow disk seconds: the log asks for room
// meanwhile. Whoever took the space meanwhile has it: the next look finds out.
void SpaceGuard::fill_if_due(std::unique_lock<std::mutex>& lock) {
  const bool due =
      !held_ && !filling_ && space_.free_bytes >= marks_.reserve_bytes + enough_of(marks_);
  if (!due || pause_looks_ > 0) {
    pause_looks_ -= pause_looks_ > 0 ? 1 : 0;
    return;
  }
  filling_ = true;
  lock.unlock();
  const bool made = make_reserve(*disk_, marks_.reserve_bytes);
  lock.lock();
  filling_ = false;
  held_ = made;
  pause_looks_ = made ? 0 : kPauseLooks;
  look_now();
}

bool SpaceGuard::fits(std::uint64_t byte_count, const RoomWish& wish) const {
  const std::uint64_t left_bytes = wish.can_wait ? marks_.low_bytes / 2 : marks_.floor_bytes;
  return space_.free_bytes >= left_bytes && space_.free_bytes - left_bytes >= byte_count &&
         (!wish.makes_file || space_.free_files > kFilesFloor);
}

bool SpaceGuard::has(std::uint64_t byte_count) {
  const std::lock_guard lock(mutex_);
  if (disk_ == nullptr) {
    return true;
  }
  look_now();
  return !is_low() && space_.free_bytes - marks_.low_bytes >= byte_count;
}

// A reserve that is being made is given out once it is there, if it is still wanted then.
Result<std::optional<std::uint64_t>> SpaceGuard::room_for(const RoomWish& wish,
                                                          std::unique_lock<std::mutex>& lock) {
  look_now();
  if (!fits(wish.wanted_bytes, wish) && wish.meanwhile) {
    lock.unlock();
    const Status freed = wish.meanwhile();
    lock.lock();
    GCOORD_TRY_STATUS(freed);
    look_now();
  }
  if (!fits(wish.wanted_bytes, wish) && held_ && !wish.can_wait) {
    give_out();
    tell();
  }
  if (fits(wish.wanted_bytes, wish)) {
    return std::optional{wish.wanted_bytes};
  }
  return fits(wish.least_bytes, wish) ? std::optional{wish.least_bytes} : std::nullopt;
}

Result<std::uint64_t> SpaceGuard::await_room(const RoomWish& wish) {
  GCOORD_ASSERT(wish.least_bytes <= wish.wanted_bytes);
  std::unique_lock lock(mutex_);
  if (disk_ == nullptr) {
    return wish.wanted_bytes;
  }
  for (bool waited = false;; waited = true) {
    GCOORD_TRY(const std::optional<std::uint64_t> room, room_for(wish, lock));
    if (room) {
      return *room;
    }
    if (options_.driver == StorageDriver::Owner) {
      return no_room(space_);
    }
    if (stopping_) {
      return Status{StatusCode::Aborted, "the node ends while its disk is full", kDiskFull};
    }
    if (!waited && metrics_) {
      metrics_->held_writes.add();
    }
    wake_.wait_for(lock, kLookEvery, [this] { return stopping_; });
  }
}

// A quota of which the disk does not say counts the reserve as well.
bool SpaceGuard::await_after_refusal() {
  std::unique_lock lock(mutex_);
  if (disk_ == nullptr || stopping_) {
    return false;
  }
  if (held_) {
    give_out();
    look_now();
    return !held_;
  }
  if (options_.driver == StorageDriver::Owner) {
    return false;
  }
  if (metrics_) {
    metrics_->held_writes.add();
  }
  wake_.wait_for(lock, kLookEvery, [this] { return stopping_; });
  return !stopping_;
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
      fill_if_due(lock);
    }
  }
}

}  // namespace gcoord::ledger
