// Sockets with rings that the loop looks at in each pass, because something came or left there
// lately; the others sleep until their client rings.
//
// So a busy client costs no system call, and thousands of idle ones cost nothing. One that brings
// nothing for some passes leaves again, armed. The loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::server {

// What a socket is to its polls.
class PolledRing {
 public:
  // Once per pass while it is hot: waits for bells again, if they came, and tells the owner what
  // has come or may leave. Whether anything did.
  virtual bool serve() = 0;

  // From now on the client rings. False: there is something already.
  virtual bool arm() = 0;

 protected:
  ~PolledRing() = default;

 private:
  friend class RingPolls;

  static constexpr std::size_t kCold = static_cast<std::size_t>(-1);

  std::size_t position_ = kCold;  // Among the hot ones.
  std::uint32_t idle_passes_ = 0;
};

class RingPolls {
 public:
  // Looked at from now on. Any number of times.
  void heat(PolledRing& ring);

  // Not looked at any more; its end is near.
  void remove(PolledRing& ring);

  // Once per pass: serves those that have something.
  void poll();

  // Before the loop sleeps: the client of every hot socket rings from now on. False: one of them
  // has something already.
  bool arm();

  std::size_t hot_count() const { return hot_count_; }

 private:
  // A client that answers what it gets is back within so many passes; then it is cold.
  static constexpr std::uint32_t kWarmPasses = 64;

  void compact();

  std::vector<PolledRing*> hot_;  // nullptr: removed.
  std::size_t hot_count_ = 0;
};

}  // namespace gcoord::server
