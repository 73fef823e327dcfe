// Wake-up sources of a waiting command: signals, and callbacks on other threads, both as file
// descriptors for poll(). One thread waits; Waker::wake() is for any thread.
//
// A SignalFd holds back what its signals do otherwise; act_by_default() lets one do it.
#pragma once

#include <chrono>
#include <initializer_list>
#include <vector>

namespace gcoord::cli {

// Signals as a file descriptor. Made before any thread starts, so that all threads block them.
class SignalFd {
 public:
  explicit SignalFd(std::initializer_list<int> signals);
  ~SignalFd();

  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;

  int fd() const { return fd_; }

  // The signal that came in, or 0.
  int take() const;

 private:
  int fd_ = -1;
};

// Lets a blocked signal do to this process what it does by itself: most end it, and SIGTSTP stops
// it until somebody continues it. Returns then, and where it does nothing: a signal that whoever
// started the program has it ignore, or SIGTSTP in an orphaned process group, which nobody could
// continue and the kernel therefore does not stop. Any thread.
void act_by_default(int signal);

// A pipe that a callback uses to wake the thread that waits.
class Waker {
 public:
  Waker();
  ~Waker();

  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  int fd() const { return fds_[0]; }

  void wake() const;
  void drain() const;

 private:
  int fds_[2] = {-1, -1};
  bool ok_ = false;
};

// Whether one of them became readable within the time.
bool wait_readable(const std::vector<int>& fds, std::chrono::milliseconds timeout);

// The same of descriptors to read from and others to write to.
struct WaitedFor {
  std::vector<int> to_read{};
  std::vector<int> to_write{};
};

bool wait_ready(const WaitedFor& fds, std::chrono::milliseconds timeout);

}  // namespace gcoord::cli
