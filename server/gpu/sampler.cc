#include "server/gpu/sampler.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace gcoord::server {
namespace {

// Some ten usual readings.
constexpr std::chrono::milliseconds kEndPatience{100};

}  // namespace

struct GpuSampler::State {
  State(GpuSource from, Time when)
      : source(std::move(from)), time(std::move(when)), wanted_us(time.clock_us()) {}

  bool wanted() const {
    const std::chrono::microseconds passed{time.clock_us() - wanted_us};
    return passed <= kGpuSampleDemand;
  }

  GpuSource source;  // The thread's.
  const Time time;
  std::mutex mutex;  // Guards all below.
  std::condition_variable changed;
  std::uint64_t wanted_us;  // When a sample was taken last.
  bool stop = false;
  bool ended = false;         // The thread will make no call any more.
  Status failure;             // Of the source, which ended the readings.
  std::uint64_t call_us = 0;  // When the call under way began; 0: none is.
  std::optional<std::vector<GpuReading>> newest;
  std::uint64_t newest_us = 0;
};

GpuSampler::GpuSampler(GpuSource source, Time time)
    : state_(std::make_shared<State>(std::move(source), std::move(time))),
      thread_([state = state_] { run(state); }) {}

GpuSampler::~GpuSampler() {
  bool ended = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
    ended = state_->changed.wait_for(lock, kEndPatience, [this] { return state_->ended; });
  }
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

// The lock is held except while the driver is called. After a stop nothing but the state is
// touched: neither the clock nor the source's surroundings may be there any more.
void GpuSampler::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  const auto stopped = [&] { return state->stop; };
  while (!state->stop) {
    const std::uint64_t began_us = state->time.clock_us();
    state->call_us = std::max<std::uint64_t>(began_us, 1);
    lock.unlock();
    auto read = state->source();
    lock.lock();
    state->call_us = 0;
    if (!read.ok()) {
      state->failure = read.status();
      break;
    }
    state->newest = std::move(read).value();
    state->newest_us = began_us;
    state->changed.wait_for(lock, state->time.interval, stopped);
    state->changed.wait(lock, [&] { return state->stop || state->wanted(); });
  }
  lock.unlock();
  state->source = nullptr;  // May call the driver, too.
  lock.lock();
  state->ended = true;
  state->changed.notify_all();
}

GpuSilence GpuSampler::silence() const {
  const std::lock_guard lock(state_->mutex);
  GpuSilence silence{.ended = state_->failure};
  if (state_->call_us != 0) {
    const std::uint64_t now_us = state_->time.clock_us();
    silence.in_call = std::chrono::microseconds{now_us - std::min(now_us, state_->call_us)};
  }
  return silence;
}

std::optional<GpuSample> GpuSampler::sample() {
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t now_us = state_->time.clock_us();
  state_->wanted_us = now_us;
  state_->changed.notify_all();
  if (!state_->newest.has_value()) {
    return std::nullopt;
  }
  const std::chrono::microseconds age{now_us - state_->newest_us};
  return GpuSample{age > kGpuSampleStale ? std::vector<GpuReading>{} : *state_->newest, age};
}

}  // namespace gcoord::server
