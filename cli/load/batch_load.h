// A closed-loop load of lock batches through the client library, for `gcoordctl bench lock
// --batch`.
//
// Each of `clients` sessions acquires `batch` names of its own in one call, releases them in one
// call, and begins again; all in callbacks on the client's thread. A sample is the time of one
// batch, from call to callback. open(), run() and close() are for one thread, in this order.
#pragma once

#include "cli/load/lock_load.h"
#include "gcoord/client.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gcoord::cli {

struct BatchLoadOptions {
  std::uint32_t clients = 1;
  std::uint32_t batch = 1;  // Names of one batch, at most client::kLockBatchNamesMax.
  std::chrono::milliseconds ttl{10'000};
  std::string prefix = "bench";
};

class BatchLoad {
 public:
  explicit BatchLoad(BatchLoadOptions options) : options_(std::move(options)) {}

  // As of LockLoad; a pair is a name that was acquired and released.
  client::Status open(client::Client& client);
  LockLoadResults run(std::chrono::milliseconds length);
  void stop();
  void close();

 private:
  struct Lane {
    std::vector<std::string> names;
    client::Session* session = nullptr;
    std::chrono::steady_clock::time_point called;
  };

  void acquire(Lane& lane);
  void on_granted(Lane& lane,
                  const client::Result<std::vector<client::Result<client::Grant>>>& grants);
  void on_released(Lane& lane, const client::Result<std::vector<client::Status>>& released);
  void note_error(const client::Status& status);
  void finish_lane();

  BatchLoadOptions options_;
  std::vector<client::Session> sessions_;
  std::atomic<bool> stopping_{false};
  std::vector<std::unique_ptr<Lane>> lanes_;  // One of each session.
  std::mutex mutex_;                          // Guards what follows.
  LockLoadResults results_;
  std::condition_variable idle_;
  std::size_t busy_lanes_ = 0;
};

}  // namespace gcoord::cli
