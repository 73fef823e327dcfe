// A bounded ring of events between the thread that follows a lane and the one that passes them on.
//
// One thread reserves and publishes, another one looks and pops; each may be another thread from
// one call to the next where a lock or a join stands between. What was done before publish() is
// seen behind front(), and what was done before pop() behind popped() (release and acquire, as O1
// and O2 of a ring to a device). Events keep their memory from lap to lap.
#pragma once

#include "common/assert.h"
#include "server/resident/copy/event.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace gcoord::server {

class EventRing {
 public:
  explicit EventRing(std::uint32_t capacity) : places_(capacity) { GCOORD_ASSERT(capacity != 0); }

  // --- Of the one thread: the place of the next event, or nullptr if the ring is full.

  CopyEvent* reserve() {
    const bool full = pushed() - popped() == places_.size();
    return full ? nullptr : &places_[pushed() % places_.size()];
  }

  void publish() { pushed_.store(pushed() + 1, std::memory_order_release); }

  // How many were published, and of those how many were popped.
  std::uint64_t pushed() const { return pushed_.load(std::memory_order_relaxed); }

  std::uint64_t popped() const { return popped_.load(std::memory_order_acquire); }

  // --- Of the other: the oldest event, until it is popped; nullptr: there is none.

  const CopyEvent* front() const {
    const std::uint64_t at = popped_.load(std::memory_order_relaxed);
    return pushed_.load(std::memory_order_acquire) == at ? nullptr : &places_[at % places_.size()];
  }

  void pop() {
    popped_.store(popped_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // --- Of any thread, for figures.

  std::uint64_t size() const {
    const std::uint64_t popped = popped_.load(std::memory_order_relaxed);
    const std::uint64_t pushed = pushed_.load(std::memory_order_relaxed);
    return pushed < popped ? 0 : pushed - popped;
  }

 private:
  std::vector<CopyEvent> places_;
  alignas(64) std::atomic<std::uint64_t> pushed_{0};
  alignas(64) std::atomic<std::uint64_t> popped_{0};
};

}  // namespace gcoord::server
