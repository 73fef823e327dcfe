// A thread that does one job at a time, for whoever must not wait: a node that answers late holds
// up nobody but its own worker. One thread gives jobs and ends it.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace gcoord::cli::top {

class Worker {
 public:
  Worker() : thread_([this] { run(); }) {}

  // Waits for the job under way.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // False while the job before is under way; then this one is not done.
  bool start(std::function<void()> job);

 private:
  void run();

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::function<void()> job_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace gcoord::cli::top
