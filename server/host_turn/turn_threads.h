// The threads that work on the lanes of one turn at once.
//
// run() hands a job to all of them and takes the first lane itself; it returns when every lane is
// done. In between the threads sleep. Waking a thread takes as long as a fifth of a turn, so while
// turns follow each other closely, a thread that is done looks for the next one for a while before
// it sleeps, if the process may use twice as many processors. They share nothing but the hand-over,
// which orders what was written before run() before the jobs, and the jobs before run()'s return.
//
// A thread that does not come back (a planted fault, a bug in a lane) stops the turn, so heartbeats
// stop and the other nodes take over after an election timeout; when the owner has waited for
// stuck_ms, awake all the while, on_stuck is called: a node that cannot end its turn cannot go on.
// A process that was stopped as a whole, or starved, is not stuck: only waits count that ended when
// they should. One owner calls run(); on_stuck is called on its thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gcoord::server {

class TurnThreads {
 public:
  struct Options {
    std::uint32_t lane_count = 1;  // One thread less is started.
    std::uint64_t stuck_ms = 10'000;
    std::function<void(std::uint32_t lane)> on_stuck;
  };

  // `job` is what run() does for each lane, from any of the threads.
  TurnThreads(Options options, std::function<void(std::uint32_t lane)> job);
  // Joins the threads; not within a job.
  ~TurnThreads();
  TurnThreads(const TurnThreads&) = delete;
  TurnThreads& operator=(const TurnThreads&) = delete;

  void run();

 private:
  void work(std::uint32_t lane);
  std::uint32_t await_turn(std::uint32_t seen, bool looks);
  void await_lanes();

  bool done() const { return left_.load(std::memory_order_acquire) == 0; }

  Options options_;
  std::function<void(std::uint32_t lane)> job_;
  bool may_look_ = false;               // There are processors for it.
  std::atomic<std::uint32_t> turn_{0};  // Rises with each run().
  std::atomic<bool> ends_{false};
  std::atomic<std::uint32_t> left_{0};   // Lanes of the threads that are not done.
  std::vector<std::atomic<bool>> busy_;  // By lane, for on_stuck.
  std::mutex mutex_;
  std::condition_variable met_;
  std::vector<std::thread> threads_;
};

}  // namespace gcoord::server
