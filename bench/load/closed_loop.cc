#include "bench/load/closed_loop.h"

namespace gcoord::bench {

namespace {

// More than any run here counts; at 4 bytes each, 16 MB.
constexpr std::size_t kExpectedPairs = 2'000'000;

// A system that answers nothing but errors must not be asked for ever.
constexpr std::uint64_t kErrorsMax = 10'000;

}  // namespace

ClosedLoop::ClosedLoop(const LoadOptions& options, LockTarget& target)
    : options_(options),
      target_(target),
      clients_(options.clients),
      result_{.lock = Latencies{kExpectedPairs}, .pair = Latencies{kExpectedPairs}},
      running_(options.clients) {}

void ClosedLoop::start() {
  counted_from_ = Clock::now() + options_.warm_up;
  counted_until_ = counted_from_ + options_.measured;
  result_.seconds = std::chrono::duration<double>(options_.measured).count();
  for (std::uint32_t client = 0; client < options_.clients; ++client) {
    begin_pair(client);
  }
}

void ClosedLoop::begin_pair(std::uint32_t client) {
  clients_[client].began = Clock::now();
  target_.lock(client);
}

void ClosedLoop::count_error(const std::string& error) {
  if (result_.errors == 0) {
    result_.first_error = error;
  }
  ++result_.errors;
}

void ClosedLoop::on_locked(std::uint32_t client, const std::string& error) {
  const auto now = Clock::now();
  if (!error.empty()) {
    count_error(error);
    next_or_stop(client, now);
    return;
  }
  clients_[client].locked = now;
  target_.unlock(client);
}

void ClosedLoop::on_unlocked(std::uint32_t client, const std::string& error) {
  const auto now = Clock::now();
  const Client& timed = clients_[client];
  if (!error.empty()) {
    count_error(error);
  } else if (now >= counted_from_ && now <= counted_until_) {
    ++result_.pairs;
    result_.lock.add(timed.locked - timed.began);
    result_.pair.add(now - timed.began);
  }
  next_or_stop(client, now);
}

void ClosedLoop::next_or_stop(std::uint32_t client, Clock::time_point now) {
  if (now < counted_until_ && result_.errors < kErrorsMax) {
    begin_pair(client);
  } else if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    ended_.set_value();
  }
}

}  // namespace gcoord::bench
