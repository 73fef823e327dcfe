// The frame of a closed-loop load of locks through the client library: it opens the sessions, runs
// the lanes for some time, collects the results, and closes the sessions. LockLoad and BatchLoad
// say what one lane does.
//
// A lane has one request outstanding at most, and sends the next in the callback of the one before,
// on the client's thread; so one process drives thousands of requests at once. open(), run() and
// close() are for one thread, in this order, once; stop() is for any thread.
#pragma once

#include "gcoord/client.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace gcoord::cli {

struct LockLoadResults {
  std::uint64_t pairs = 0;  // Names that were acquired and released.
  std::uint64_t errors = 0;
  std::string first_error;
  double seconds = 0;
  std::vector<std::uint32_t> acquire_us;  // From call to callback; sorted.
  std::vector<std::uint32_t> release_us;  // Likewise.
};

// The value below which `percent` of the sorted samples lie; 0 without samples.
std::uint32_t percentile(const std::vector<std::uint32_t>& sorted, double percent);

// A wait that has an end, so that a run has one too.
inline constexpr std::chrono::milliseconds kLoadWaitMax{30'000};

// Nanoseconds of one clock of the machine, so that histories of several programs merge into one.
std::uint64_t steady_ns();

// One sequence of acquire and release. Its callbacks run on the client's thread.
class LoadLane {
 public:
  virtual ~LoadLane() = default;

  // Sends the next acquire. The lane that has seen its release calls ClosedLoad::next().
  virtual void acquire() = 0;
};

class ClosedLoad {
 public:
  virtual ~ClosedLoad();
  ClosedLoad(const ClosedLoad&) = delete;
  ClosedLoad& operator=(const ClosedLoad&) = delete;

  // Opens the sessions; no request of a lane is sent yet.
  client::Status open(client::Client& client);

  // Runs for this long, then waits for what is outstanding; each request has its own deadline.
  LockLoadResults run(std::chrono::milliseconds length);

  // Ends open() and run() early, with the results by then. Any thread.
  void stop();

  // Closes the sessions, and waits for the answers.
  void close();

  // For lanes, in their callbacks: the next acquire, or the end of this lane.
  void next(LoadLane& lane);

  // For lanes. A batch is one sample of time, and a pair for each of its names.
  void note_acquired(std::uint64_t nanoseconds);
  void note_released(std::uint64_t nanoseconds, std::uint64_t pairs);

  // For lanes. Ends the load where each later request would fail as well, and at once.
  void note_error(const client::Status& status);

  // Stopped by stop(), not by the end of run(): for waits that would go on too long.
  const std::stop_token& interrupted() const { return interrupted_; }

 protected:
  explicit ClosedLoad(std::uint32_t clients) : clients_(clients) {}

  using Lanes = std::vector<std::unique_ptr<LoadLane>>;

 private:
  virtual client::Result<client::Session> open_session(client::Client& client,
                                                       std::uint32_t index) = 0;

  // Adds the lanes of the session of this index. The session outlives them.
  virtual void add_lanes(client::Session& session, std::uint32_t index, Lanes& lanes) = 0;

  std::uint32_t clients_ = 0;
  std::vector<client::Session> sessions_;
  Lanes lanes_;
  std::atomic<bool> stopping_{false};
  std::stop_source interrupt_;
  std::stop_token interrupted_ = interrupt_.get_token();
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable idle_;
  std::size_t busy_lanes_ = 0;
  LockLoadResults results_;
};

}  // namespace gcoord::cli
