// Requests to settle: callers wait until a thread has made everything durable that came before.
//
// Each request has a number, which the thread gets in the order of the requests and answers once.
#pragma once

#include "common/status.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

namespace gcoord::server {

class SettleRequests {
 public:
  // submit(number) hands the request to the thread. Returns what the thread answers. Any thread but
  // that one.
  template <typename Submit>
  Status wait(Submit&& submit) {
    std::unique_lock lock(mutex_);
    const std::uint64_t number = ++submitted_;
    submit(number);
    answered_.wait(lock, [&] { return done_ >= number; });
    return status_;
  }

  // The thread's: answers this request and all before it.
  void answer(std::uint64_t number, Status status) {
    const std::lock_guard lock(mutex_);
    done_ = number;
    status_ = std::move(status);
    answered_.notify_all();
  }

 private:
  std::mutex mutex_;  // Guards all below.
  std::condition_variable answered_;
  std::uint64_t submitted_ = 0;
  std::uint64_t done_ = 0;
  Status status_;
};

}  // namespace gcoord::server
