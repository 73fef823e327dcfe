// Closed-loop load: each of N clients locks its own name, unlocks it, and starts again at once.
//
// The same loop drives every system under comparison, so what differs is the system and its client.
// A pair is one lock and one unlock, both acknowledged. Pairs that end between the end of the
// warm-up and the end of the run are counted.
//
// Threads: start() may run on any thread; all answers must come from one thread, the target's.
#pragma once

#include "bench/report/latencies.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

namespace gcoord::bench {

struct LoadOptions {
  std::uint32_t clients = 256;
  std::chrono::milliseconds warm_up{1000};
  std::chrono::milliseconds measured{5000};
};

// What locks and unlocks. The answer to each call is one call of ClosedLoop::on_locked or
// on_unlocked for that client, later and not from within the call.
class LockTarget {
 public:
  virtual ~LockTarget() = default;
  virtual void lock(std::uint32_t client) = 0;
  virtual void unlock(std::uint32_t client) = 0;
};

struct LoadResult {
  std::uint64_t pairs = 0;
  std::uint64_t errors = 0;
  std::string first_error;
  double seconds = 0;
  Latencies lock;
  Latencies pair;

  double pairs_per_second() const { return seconds > 0 ? static_cast<double>(pairs) / seconds : 0; }
};

class ClosedLoop {
 public:
  using Clock = std::chrono::steady_clock;

  ClosedLoop(const LoadOptions& options, LockTarget& target);

  // Sends every client's first lock.
  void start();

  // `error` is empty on success. A client that met an error starts again with its lock.
  void on_locked(std::uint32_t client, const std::string& error);
  void on_unlocked(std::uint32_t client, const std::string& error);

  // Every client got its last answer after the time was over.
  bool ended() const { return running_.load(std::memory_order_acquire) == 0; }

  // Becomes ready when ended() does.
  std::future<void> end() { return ended_.get_future(); }

  // Once ended.
  LoadResult take_result() { return std::move(result_); }

 private:
  struct Client {
    Clock::time_point began;   // Of the present pair.
    Clock::time_point locked;  // When its lock was granted.
  };

  void begin_pair(std::uint32_t client);
  void count_error(const std::string& error);
  void next_or_stop(std::uint32_t client, Clock::time_point now);

  LoadOptions options_;
  LockTarget& target_;
  std::vector<Client> clients_;
  Clock::time_point counted_from_;
  Clock::time_point counted_until_;
  LoadResult result_;
  std::atomic<std::uint32_t>
      running_;  // Clients still at it; release pairs with ended()'s acquire.
  std::promise<void> ended_;
};

}  // namespace gcoord::bench
