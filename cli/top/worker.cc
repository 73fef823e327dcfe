#include "cli/top/worker.h"

#include <utility>

namespace gcoord::cli::top {

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Worker::start(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  if (job_) {
    return false;
  }
  job_ = std::move(job);
  changed_.notify_all();
  return true;
}

void Worker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || job_; });
    if (ending_) {
      return;
    }
    lock.unlock();
    job_();  // Nobody else writes it until it is empty again.
    lock.lock();
    job_ = nullptr;
  }
}

}  // namespace gcoord::cli::top
