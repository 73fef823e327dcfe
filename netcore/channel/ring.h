// A ring that one side writes and the other reads: an unbounded stream over fixed memory.
//
// Cursors only grow; a slot is cursor % capacity. The writer publishes with release, the reader
// consumes with acquire (memory_order.h). One writer, one reader; neither ever waits: each call
// says how far it came. The memory belongs to the receiver; RingView is a handle that is passed by
// value, also to a kernel. `written` and `consumed` sit on lines of their own, because each has one
// writer and the other side polls it.
#pragma once

#include "common/assert.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord::netcore {

// 64 bytes is the line of every host gcoord runs on.
struct alignas(64) RingCursor {
  std::uint64_t value = 0;
};

// Powers of two only: the place of a cursor is then a mask, and a lap never splits at 2^64.
GCOORD_HD constexpr bool is_ring_capacity(std::uint32_t capacity) {
  return capacity != 0 && (capacity & (capacity - 1)) == 0;
}

// What a slot carries to validate itself: the cursor it was written at, never 0 (O3 of
// docs/internals/memory_order.md). A slot whose stamp is not that of the cursor being read is from
// an earlier lap.
GCOORD_HD constexpr std::uint64_t ring_stamp(std::uint64_t cursor) {
  return cursor + 1;
}

template <typename T>
struct RingView {
  T* slots = nullptr;
  RingCursor* written = nullptr;   // Stored by the writer only.
  RingCursor* consumed = nullptr;  // Stored by the reader only.
  std::uint32_t capacity = 0;      // A power of two.

  // The place of a cursor. The writer may touch it once the reader has consumed the lap before, the
  // reader once the writer has published it.
  GCOORD_HD T& slot(std::uint64_t cursor) const { return slots[cursor & (capacity - 1)]; }
};

// Writer side: how many slots can be written now.
template <typename Order, typename T>
GCOORD_HD std::uint32_t ring_room(RingView<T> ring) {
  const std::uint64_t written = Order::own(ring.written->value);
  const std::uint64_t consumed = Order::observe(ring.consumed->value);
  GCOORD_ASSERT(consumed <= written);
  GCOORD_ASSERT(written - consumed <= ring.capacity);
  return ring.capacity - static_cast<std::uint32_t>(written - consumed);
}

// Writer side: the false answer means that the ring is full. The value is stored before the cursor
// is published, so a reader that sees the cursor sees the value.
template <typename Order, typename T>
GCOORD_HD bool ring_write(RingView<T> ring, const T& value) {
  if (ring_room<Order>(ring) == 0) {
    return false;
  }
  const std::uint64_t written = Order::own(ring.written->value);
  ring.slot(written) = value;
  Order::publish(ring.written->value, written + 1);
  return true;
}

// Reader side: how many slots wait to be read.
template <typename Order, typename T>
GCOORD_HD std::uint32_t ring_waiting(RingView<T> ring) {
  const std::uint64_t consumed = Order::own(ring.consumed->value);
  const std::uint64_t written = Order::observe(ring.written->value);
  GCOORD_ASSERT(consumed <= written);
  return static_cast<std::uint32_t>(written - consumed);
}

// Reader side: the next slot into `value`; false when none waits. The value is read before the
// cursor is published, so a writer that sees the place free may overwrite it.
template <typename Order, typename T>
GCOORD_HD bool ring_read(RingView<T> ring, T& value) {
  if (ring_waiting<Order>(ring) == 0) {
    return false;
  }
  const std::uint64_t consumed = Order::own(ring.consumed->value);
  value = ring.slot(consumed);
  Order::publish(ring.consumed->value, consumed + 1);
  return true;
}

}  // namespace gcoord::netcore
