#include "netcore/memory/bell_watch.h"

#include "netcore/memory/order.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

namespace gcoord::netcore {
namespace {

using Clock = std::chrono::steady_clock;

// The first pause of a silence; shorter ones cost the kernel's timer slack all the same.
constexpr std::uint32_t kPauseUsMin = 10;

}  // namespace

BellWatch::BellWatch(std::vector<std::uint64_t*> bells, const BellWatchOptions& options)
    : options_(options) {
  for (std::uint64_t* bell : bells) {
    bells_.push_back(Heard{bell, 0, 0});
  }
}

Result<std::unique_ptr<BellWatch>> BellWatch::start(std::vector<std::uint64_t*> bells,
                                                    const BellWatchOptions& options) {
  std::unique_ptr<BellWatch> watch{new BellWatch(std::move(bells), options)};
  watch->fd_ = watch->level_.get(false);
  if (watch->fd_ < 0) {
    return Status{StatusCode::ResourceExhausted,
                  "no descriptor for bells: " + std::generic_category().message(-watch->fd_) +
                      ". Raise the limit of open files (ulimit -n)"};
  }
  watch->thread_ = std::thread{[raw = watch.get()] { raw->run(); }};
  return watch;
}

BellWatch::~BellWatch() {
  {
    const std::lock_guard lock{mutex_};
    ending_ = true;
  }
  end_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

// Under the lock. Was any bell rung since the last look? The descriptor is written with each.
bool BellWatch::look() {
  bool rung = false;
  for (Heard& bell : bells_) {
    const std::uint64_t word = SystemOrder::own(*bell.word);
    rung = rung || word != bell.told;
    bell.told = word;
  }
  if (rung) {
    level_.set(true);
  }
  return rung;
}

void BellWatch::run() {
  Clock::time_point heard = Clock::now();
  std::uint32_t pause_us = kPauseUsMin;
  std::unique_lock lock{mutex_};
  while (!ending_) {
    if (look()) {
      heard = Clock::now();
      pause_us = kPauseUsMin;
    }
    if (Clock::now() - heard < std::chrono::microseconds{options_.spin_us}) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
      continue;
    }
    end_.wait_for(lock, std::chrono::microseconds{pause_us}, [this] { return ending_; });
    pause_us = std::max(kPauseUsMin, std::min(pause_us * 2, options_.pause_us_max));
  }
}

std::optional<BellRings> BellWatch::take() {
  const std::lock_guard lock{mutex_};
  std::optional<BellRings> taken;
  bool more = false;
  for (std::size_t ahead = 0; ahead < bells_.size(); ++ahead) {
    const std::size_t number = (next_ + ahead) % bells_.size();
    Heard& bell = bells_[number];
    const std::uint64_t word = SystemOrder::observe(*bell.word);
    if (word == bell.taken) {
      continue;
    }
    if (taken.has_value()) {
      more = true;
      break;
    }
    taken = BellRings{static_cast<std::uint32_t>(number), word - bell.taken};
    bell.taken = word;
    bell.told = word;
  }
  if (taken.has_value()) {
    next_ = (taken->bell + 1) % bells_.size();
  }
  level_.set(more);
  return taken;
}

}  // namespace gcoord::netcore
