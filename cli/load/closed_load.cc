#include "cli/load/closed_load.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gcoord::cli {

namespace {

std::uint32_t to_us(std::uint64_t ns) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(ns / 1000, 0xffff'ffffu));
}

}  // namespace

std::uint32_t percentile(const std::vector<std::uint32_t>& sorted, double percent) {
  if (sorted.empty()) {
    return 0;
  }
  const double rank = std::ceil(percent / 100.0 * static_cast<double>(sorted.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

std::uint64_t steady_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

ClosedLoad::~ClosedLoad() = default;

client::Status ClosedLoad::open(client::Client& client) {
  for (std::uint32_t index = 0; index < clients_ && !stopping_.load(); ++index) {
    auto session = open_session(client, index);
    if (!session.ok()) {
      return session.status();
    }
    sessions_.push_back(std::move(session).value());
  }
  return client::Status{};
}

LockLoadResults ClosedLoad::run(std::chrono::milliseconds length) {
  for (std::uint32_t index = 0; index < sessions_.size(); ++index) {
    add_lanes(sessions_[index], index, lanes_);
  }
  busy_lanes_ = lanes_.size();
  const std::uint64_t started = steady_ns();
  for (const auto& lane : lanes_) {
    next(*lane);
  }
  std::unique_lock lock(mutex_);
  idle_.wait_for(lock, length, [this] { return busy_lanes_ == 0 || stopping_.load(); });
  stopping_.store(true, std::memory_order_relaxed);  // Seen late by a lane costs one more pair.
  const double seconds = static_cast<double>(steady_ns() - started) / 1e9;
  // Every request has a deadline, so this ends; nothing may call back into a load that is gone.
  idle_.wait(lock, [this] { return busy_lanes_ == 0; });
  LockLoadResults results = std::exchange(results_, {});
  lock.unlock();
  results.seconds = seconds;
  std::sort(results.acquire_us.begin(), results.acquire_us.end());
  std::sort(results.release_us.begin(), results.release_us.end());
  return results;
}

void ClosedLoad::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true);
  }
  idle_.notify_all();
  interrupt_.request_stop();
}

void ClosedLoad::close() {
  std::vector<client::Future<client::Status>> closing;
  for (client::Session& session : sessions_) {
    closing.push_back(session.close_async());
  }
  for (auto& each : closing) {
    static_cast<void>(std::move(each).get());  // One that failed ends with its TTL.
  }
}

void ClosedLoad::next(LoadLane& lane) {
  if (!stopping_.load(std::memory_order_relaxed)) {
    return lane.acquire();
  }
  const std::lock_guard lock(mutex_);
  --busy_lanes_;
  idle_.notify_all();
}

void ClosedLoad::note_acquired(std::uint64_t nanoseconds) {
  const std::lock_guard lock(mutex_);
  results_.acquire_us.push_back(to_us(nanoseconds));
}

void ClosedLoad::note_released(std::uint64_t nanoseconds, std::uint64_t pairs) {
  const std::lock_guard lock(mutex_);
  results_.pairs += pairs;
  results_.release_us.push_back(to_us(nanoseconds));
}

void ClosedLoad::note_error(const client::Status& status) {
  const std::lock_guard lock(mutex_);
  ++results_.errors;
  if (results_.first_error.empty()) {
    results_.first_error = status.to_string();
  }
  if (status.detail() == client::kDetailSessionExpired ||
      status.detail() == client::kDetailUnreachable) {
    stopping_.store(true, std::memory_order_relaxed);
  }
}

}  // namespace gcoord::cli
