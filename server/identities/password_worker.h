// The thread that checks and hashes passwords, so that no pass of the loop pays for one.
//
// One thread behind a queue of kQueueMax: a check takes some tens of milliseconds and 32 MiB on
// purpose, so more at once would only take processors and memory from the node's real work. It is a
// background thread (common/host/background_thread.h). Passwords are wiped when their turn is over.
// submit() and take_done() are for one thread, the loop's; results wait until take_done() hands
// each to its owner there. The destructor waits for the one under way and forgets the others.
#pragma once

#include "common/status.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::server {

class PasswordWorker {
 public:
  static constexpr std::size_t kQueueMax = 128;

  // `wake` is called on the worker's thread when there is something to take.
  explicit PasswordWorker(std::function<void()> wake);
  ~PasswordWorker();
  PasswordWorker(const PasswordWorker&) = delete;
  PasswordWorker& operator=(const PasswordWorker&) = delete;

  enum class Outcome : std::uint8_t {
    Right,
    Wrong,
    NotChecked,  // It was abandoned before its turn: nothing is known of the password.
  };

  // Set once nobody waits for the outcome any more.
  using Abandoned = std::shared_ptr<std::atomic<bool>>;

  // Who waits for a check.
  struct Waiter {
    std::function<void(Outcome)> done;
    Abandoned abandoned{};  // None: the waiter stays.
  };

  // Whether the password is the verifier's, later; one that is abandoned when its turn comes is not
  // checked. False: the queue is full, and nothing happens.
  bool check(std::string verifier, std::string password, Waiter waiter);

  // A verifier of a new password, later (security/credentials/password.h). False as above.
  bool hash(std::string password, std::function<void(Result<std::string>)> done);

  // Calls whoever's turn is over. Whether there was anybody.
  bool take_done();

  std::size_t queued() const;

 private:
  struct Job {
    std::string verifier;  // Empty: hash.
    std::string password;
    std::function<void(Outcome)> checked;
    std::function<void(Result<std::string>)> hashed;
    Abandoned abandoned;
  };

  bool submit(Job job);
  void run();
  std::function<void()> work(Job& job) const;

  std::function<void()> wake_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable came_;
  std::deque<Job> jobs_;
  std::vector<std::function<void()>> done_;
  bool ending_ = false;
  std::thread thread_;  // Started with the first job.
};

}  // namespace gcoord::server
