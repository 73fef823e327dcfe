// A closed-loop load of lock and unlock through the client library, for `gcoordctl bench lock`.
//
// Each of `clients` sessions keeps `pipeline` lanes busy; a lane acquires its name, releases it,
// and begins again. All runs in callbacks on the client's thread, so one process drives thousands
// of requests at once. What was measured: from call to callback, per acquire and per release.
// start() and results() are for one thread; callbacks run on the client's.
#pragma once

#include "cli/load/history.h"
#include "gcoord/client.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace gcoord::cli {

struct LockLoadOptions {
  std::uint32_t clients = 1;
  std::uint32_t pipeline = 1;
  bool shared_name = false;  // All lanes want one name; else every lane has its own.
  std::chrono::milliseconds ttl{10'000};
  std::string prefix = "bench";
};

struct LockLoadResults {
  std::uint64_t pairs = 0;  // Acquired and released.
  std::uint64_t errors = 0;
  std::string first_error;
  double seconds = 0;
  std::vector<std::uint32_t> acquire_us;  // Sorted.
  std::vector<std::uint32_t> release_us;  // Sorted.
};

// Counts a failure. Whether every later request would fail as well, and at once: a lost session.
bool note_failure(LockLoadResults& results, const client::Status& status);

// The value below which `percent` of the sorted samples lie; 0 without samples.
std::uint32_t percentile(const std::vector<std::uint32_t>& sorted, double percent);

class LockLoad {
 public:
  // The history may be nullptr.
  LockLoad(LockLoadOptions options, History* history);
  ~LockLoad();

  // Opens the sessions; no request is sent yet.
  client::Status open(client::Client& client);

  // Runs for this long, then waits for what is outstanding; each request has its own deadline.
  LockLoadResults run(std::chrono::milliseconds length);

  // Ends open() and run() early, with what there is by then. Any thread.
  void stop();

  // Closes the sessions, and waits for the answers. After run(), once.
  void close();

 private:
  struct Lane {
    client::Session* session = nullptr;
    std::uint32_t process = 0;
    std::string name;
    std::uint64_t called_ns = 0;
  };

  void acquire(Lane& lane);
  void on_granted(Lane& lane, const client::Result<client::Grant>& grant);
  void on_released(Lane& lane, std::uint64_t token, const client::Status& status);
  void note_error(const client::Status& status);
  void finish_lane();

  LockLoadOptions options_;
  History* history_ = nullptr;
  std::vector<client::Session> sessions_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::atomic<bool> stopping_{false};
  std::stop_source waits_;  // Ends those for a shared name.
  std::stop_token waits_end_ = waits_.get_token();
  std::mutex mutex_;
  std::condition_variable idle_;
  std::size_t busy_lanes_ = 0;
  LockLoadResults results_;  // Of the client's thread while lanes are busy.
};

}  // namespace gcoord::cli
