// Wakes the loop's thread, once, and only when it sleeps.
//
// I/O threads ring; the loop arms before it sleeps, and is refused when somebody has rung since it
// last looked. The order is sequentially consistent: either the ringing thread sees that the loop
// sleeps, or the loop sees that somebody has rung. ring(): any thread; the rest: the loop's.
#pragma once

#include <atomic>
#include <cstdint>

namespace gcoord::server {

class LoopBell {
 public:
  // Throws std::system_error when the process has no descriptor left.
  LoopBell();
  ~LoopBell();
  LoopBell(const LoopBell&) = delete;
  LoopBell& operator=(const LoopBell&) = delete;

  // Readable once the loop is to wake.
  int fd() const { return fd_; }

  void ring();

  // Before the loop sleeps; false: it shall not.
  bool arm();

  // The loop is about to look at everything that is rung for.
  void silence();

  // The descriptor was readable; it is not any more.
  void answer();

  // How often a sleeping loop was woken.
  std::uint64_t wake_count() const { return wakes_.load(std::memory_order_relaxed); }

 private:
  int fd_;
  std::atomic<bool> rung_{false};
  std::atomic<bool> sleeps_{false};
  std::atomic<std::uint64_t> wakes_{0};
};

}  // namespace gcoord::server
