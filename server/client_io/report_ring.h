// Bounded queue from one thread to one other: neither waits for the other.
//
// Cursors only grow; a slot is cursor % capacity. The producer publishes a slot with release, the
// consumer reads it with acquire; and the consumer gives it back with release, which the producer
// acquires before it writes there again. One producer, one consumer.
#pragma once

#include "common/assert.h"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gcoord::server {

template <typename T>
class ReportRing {
 public:
  // `capacity`: a power of two.
  explicit ReportRing(std::size_t capacity) : slots_(capacity) {
    GCOORD_ASSERT(std::has_single_bit(capacity));
  }

  // The producer. False, and the item is untouched, when the ring is full.
  bool push(T&& item) {
    const std::uint64_t written = written_.load(std::memory_order_relaxed);
    // Acquire: pairs with the release in pop(), so the slot is empty.
    if (written - read_.load(std::memory_order_acquire) == slots_.size()) {
      return false;
    }
    slots_[written & (slots_.size() - 1)] = std::move(item);
    written_.store(written + 1, std::memory_order_release);  // Pairs with the acquire in pop().
    return true;
  }

  // The consumer. False when there is none.
  bool pop(T& item) {
    const std::uint64_t read = read_.load(std::memory_order_relaxed);
    if (read == written_.load(std::memory_order_acquire)) {
      return false;
    }
    item = std::exchange(slots_[read & (slots_.size() - 1)], T{});
    read_.store(read + 1, std::memory_order_release);
    return true;
  }

 private:
  static constexpr std::size_t kLineBytes = 64;  // Of a cache: the cursors share none.

  std::vector<T> slots_;
  alignas(kLineBytes) std::atomic<std::uint64_t> written_{0};
  alignas(kLineBytes) std::atomic<std::uint64_t> read_{0};
};

}  // namespace gcoord::server
