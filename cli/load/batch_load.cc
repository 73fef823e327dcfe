#include "cli/load/batch_load.h"

#include <algorithm>
#include <utility>

namespace gcoord::cli {

namespace {

using SteadyClock = std::chrono::steady_clock;

// Names are the sessions' own, so that nobody waits but for what an earlier run has left.
constexpr std::chrono::milliseconds kWaitMax{30'000};

std::uint32_t us_since(SteadyClock::time_point begin) {
  const auto us =
      std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - begin).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(us, 0, 0xffff'ffff));
}

}  // namespace

client::Status BatchLoad::open(client::Client& client) {
  for (std::uint32_t index = 0; index < options_.clients && !stopping_.load(); ++index) {
    auto session = client.open_session({.ttl = options_.ttl});
    if (!session.ok()) {
      return session.status();
    }
    sessions_.push_back(std::move(session).value());
  }
  return client::Status{};
}

LockLoadResults BatchLoad::run(std::chrono::milliseconds length) {
  for (std::size_t index = 0; index < sessions_.size(); ++index) {
    auto lane = std::make_unique<Lane>();
    lane->session = &sessions_[index];
    for (std::uint32_t name = 0; name < options_.batch; ++name) {
      lane->names.push_back(options_.prefix + "/" + std::to_string(index) + "/" +
                            std::to_string(name));
    }
    lanes_.push_back(std::move(lane));
  }
  busy_lanes_ = lanes_.size();
  const auto began = SteadyClock::now();
  for (const auto& lane : lanes_) {
    acquire(*lane);
  }
  std::unique_lock lock(mutex_);
  idle_.wait_for(lock, length, [this] { return busy_lanes_ == 0 || stopping_.load(); });
  stopping_.store(true, std::memory_order_relaxed);
  const double seconds = std::chrono::duration<double>(SteadyClock::now() - began).count();
  // Every request has a deadline, so this ends.
  idle_.wait(lock, [this] { return busy_lanes_ == 0; });
  LockLoadResults results = std::exchange(results_, {});
  lock.unlock();
  results.seconds = seconds;
  std::sort(results.acquire_us.begin(), results.acquire_us.end());
  std::sort(results.release_us.begin(), results.release_us.end());
  return results;
}

void BatchLoad::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true);
  }
  idle_.notify_all();
}

void BatchLoad::close() {
  std::vector<client::Future<client::Status>> closing;
  for (client::Session& session : sessions_) {
    closing.push_back(session.close_async());
  }
  for (auto& each : closing) {
    static_cast<void>(std::move(each).get());  // One that failed ends with its TTL.
  }
}

void BatchLoad::acquire(Lane& lane) {
  if (stopping_.load(std::memory_order_relaxed)) {
    return finish_lane();
  }
  lane.called = SteadyClock::now();
  lane.session->acquire_many_async(lane.names,
                                   {.wait = kWaitMax},
                                   [this, &lane](const auto& grants) { on_granted(lane, grants); });
}

void BatchLoad::on_granted(
    Lane& lane, const client::Result<std::vector<client::Result<client::Grant>>>& grants) {
  if (!grants.ok()) {
    note_error(grants.status());
    return acquire(lane);
  }
  std::vector<client::HeldToken> holds;
  holds.reserve(lane.names.size());
  for (std::size_t index = 0; index < lane.names.size(); ++index) {
    const auto& grant = grants.value()[index];
    if (grant.ok()) {
      holds.push_back({lane.names[index], grant.value().token});
    } else {
      note_error(grant.status());
    }
  }
  if (holds.empty()) {
    return acquire(lane);
  }
  {
    const std::lock_guard lock(mutex_);
    results_.acquire_us.push_back(us_since(lane.called));
  }
  lane.called = SteadyClock::now();
  lane.session->release_many_async(
      std::move(holds), [this, &lane](const auto& released) { on_released(lane, released); });
}

void BatchLoad::on_released(Lane& lane,
                            const client::Result<std::vector<client::Status>>& released) {
  if (!released.ok()) {
    note_error(released.status());
    return acquire(lane);
  }
  std::uint64_t pairs = 0;
  for (const client::Status& status : released.value()) {
    pairs += status.ok() ? 1 : 0;
    if (!status.ok()) {
      note_error(status);
    }
  }
  {
    const std::lock_guard lock(mutex_);
    results_.pairs += pairs;
    results_.release_us.push_back(us_since(lane.called));
  }
  acquire(lane);
}

void BatchLoad::note_error(const client::Status& status) {
  const std::lock_guard lock(mutex_);
  if (note_failure(results_, status)) {
    stopping_.store(true, std::memory_order_relaxed);
  }
}

void BatchLoad::finish_lane() {
  const std::lock_guard lock(mutex_);
  --busy_lanes_;
  idle_.notify_all();
}

}  // namespace gcoord::cli
