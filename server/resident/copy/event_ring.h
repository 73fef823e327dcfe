// A bounded ring of events between the thread that follows a lane and the one that passes them on.
//
// One thread reserves and publishes, another one looks and pops; each may be another thread from
// one call to the next where a lock or a join stands between. What was done before publish() is
// seen behind front(), and what was done before pop() behind popped() (release and acquire, as O1
// and O2 of a ring to a device). Events keep their memory from lap to lap.
// The two threads' processors pass lines of memory to and fro, and each such line is as dear as a
// hundred instructions. So each side goes by what it saw of the other one for as long as it can,
// says what it popped for several events at once, and asks for the next event's lines while it has
// one in hand (docs/adr/0155).
#pragma once

#include "common/assert.h"
#include "server/resident/copy/event.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::server {

class EventRing {
 public:
  // Events that may be popped and not said to be, while more are known to be there.
  static constexpr std::uint32_t kPopsAtOnce = 8;

  explicit EventRing(std::uint32_t capacity) : places_(capacity) { GCOORD_ASSERT(capacity != 0); }

  // --- Of the one thread: the place of the next event, or nullptr if the ring is full.

  CopyEvent* reserve() {
    const std::uint64_t pushed = this->pushed();
    if (pushed - writer_.popped_seen == places_.size()) {
      writer_.popped_seen = popped_.load(std::memory_order_acquire);
    }
    return pushed - writer_.popped_seen == places_.size() ? nullptr : &places_[writer_.place];
  }

  void publish() {
    writer_.place = after(writer_.place);
    pushed_.store(pushed() + 1, std::memory_order_release);
  }

  // How many were published.
  std::uint64_t pushed() const { return pushed_.load(std::memory_order_relaxed); }

  // Whether so many of those were popped, as far as that was said.
  bool has_popped(std::uint64_t count) {
    if (writer_.popped_seen < count) {
      writer_.popped_seen = popped_.load(std::memory_order_acquire);
    }
    return writer_.popped_seen >= count;
  }

  // --- Of the other: the oldest event, until it is popped; nullptr: there is none.

  const CopyEvent* front() {
    if (reader_.popped == reader_.pushed_seen) {
      reader_.pushed_seen = pushed_.load(std::memory_order_acquire);
      if (reader_.popped == reader_.pushed_seen) {
        return nullptr;
      }
      prefetch(places_[reader_.place]);
      prefetch(places_[after(reader_.place)]);
    }
    return &places_[reader_.place];
  }

  // The event behind the oldest one, if it is known to be there. The one behind that comes nearer.
  const CopyEvent* second() const {
    const std::uint64_t known = reader_.pushed_seen - reader_.popped;
    const std::size_t place = after(reader_.place);
    if (known > 2) {
      prefetch(places_[after(place)]);
    }
    return known > 1 ? &places_[place] : nullptr;
  }

  // What front() looks at, and gives, comes nearer.
  void expect() const {
    __builtin_prefetch(&pushed_);
    prefetch(places_[reader_.place]);
  }

  void pop() {
    ++reader_.popped;
    reader_.place = after(reader_.place);
    if (reader_.popped == reader_.pushed_seen || reader_.popped % kPopsAtOnce == 0) {
      popped_.store(reader_.popped, std::memory_order_release);
    }
  }

  // --- Of any thread, for figures; those that were popped a moment ago may count.

  std::uint64_t size() const {
    const std::uint64_t popped = popped_.load(std::memory_order_relaxed);
    const std::uint64_t pushed = pushed_.load(std::memory_order_relaxed);
    return pushed < popped ? 0 : pushed - popped;
  }

 private:
  static constexpr std::size_t kLineBytes = 64;

  std::size_t after(std::size_t place) const { return place + 1 == places_.size() ? 0 : place + 1; }

  static void prefetch(const CopyEvent& event) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&event);
    for (std::size_t at = 0; at < sizeof event; at += kLineBytes) {
      __builtin_prefetch(bytes + at);
    }
  }

  std::vector<CopyEvent> places_;

  // Written by the one thread, and by the other.
  alignas(kLineBytes) std::atomic<std::uint64_t> pushed_{0};

  struct {
    std::size_t place = 0;  // Of the next event.
    std::uint64_t popped_seen = 0;
  } writer_;

  alignas(kLineBytes) std::atomic<std::uint64_t> popped_{0};

  struct {
    std::size_t place = 0;  // Of the oldest event.
    std::uint64_t popped = 0;
    std::uint64_t pushed_seen = 0;
  } reader_;
};

}  // namespace gcoord::server
