// Credits: how many slots a sender may have under way in a receiver's ring.
//
// All counters are absolute cursors that only grow within an epoch, so an update may be lost,
// repeated or overtaken without harm: the greatest one wins. The sender's `sent` and the receiver's
// `received` name positions in the ring; a gap between them is loss and frees its slots at once
// (the sender emits again what was lost). Thresholds as in UCX: grant when more than half is
// consumed or the sender must believe that less than a quarter is left; two slots stay out of reach
// of data, so that control never waits for it.
//
// A new epoch starts all cursors at 0. Pure arithmetic, host and device; one owner per object.
#pragma once

#include "common/assert.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord::netcore {

inline constexpr std::uint32_t kControlReserveSlots = 2;
inline constexpr std::uint32_t kRingSlotsMin = 8;         // Half of it minus the reserve is not 0.
inline constexpr std::uint32_t kRingSlotsMax = 1u << 20;  // Far below 2^31, see widen_cursor.

// The wire carries the low 32 bits of a cursor. The full one is the value nearest to a cursor that
// is known to lie within 2^31 of it.
GCOORD_HD constexpr std::uint64_t widen_cursor(std::uint32_t low, std::uint64_t reference) {
  const auto distance = static_cast<std::int32_t>(low - static_cast<std::uint32_t>(reference));
  if (distance < 0 && reference < static_cast<std::uint64_t>(-std::int64_t{distance})) {
    return low;  // Below zero there is nothing: it can only be ahead.
  }
  return reference + static_cast<std::uint64_t>(std::int64_t{distance});
}

enum class CreditClass : std::uint8_t { Ordinary, Control };

enum class CursorVerdict : std::uint8_t {
  Accepted,
  Stale,    // Says less than what is known already.
  Overrun,  // Says more than a correct peer can.
};

struct CreditSender {
  std::uint64_t sent = 0;      // Cursor after the last slot sent.
  std::uint64_t consumed = 0;  // As the receiver last told.
  std::uint32_t capacity = 0;  // Of the receiver's ring.

  GCOORD_HD constexpr std::uint32_t available(CreditClass kind) const {
    GCOORD_ASSERT_ALL(consumed <= sent, sent - consumed <= capacity);
    const auto left = capacity - static_cast<std::uint32_t>(sent - consumed);
    if (kind == CreditClass::Control) {
      return left;
    }
    return left > kControlReserveSlots ? left - kControlReserveSlots : 0;
  }

  GCOORD_HD constexpr void take(std::uint32_t slot_count, CreditClass kind) {
    GCOORD_ASSERT(slot_count <= available(kind));
    sent += slot_count;
  }

  // The receiver's cursor as it came over the wire.
  GCOORD_HD constexpr CursorVerdict on_consumed(std::uint32_t low) {
    const std::uint64_t told = widen_cursor(low, consumed);
    if (told < consumed) {
      return CursorVerdict::Stale;
    }
    if (told > sent) {
      return CursorVerdict::Overrun;
    }
    consumed = told;
    return CursorVerdict::Accepted;
  }
};

struct CreditReceiver {
  std::uint64_t received = 0;  // Cursor after the last slot that arrived or is known to be lost.
  std::uint64_t consumed = 0;  // Slots whose place is free again.
  std::uint64_t told = 0;      // `consumed` as last written into a frame.
  std::uint64_t lost = 0;      // For metrics: slots that never arrived.
  std::uint32_t capacity = 0;

  // Slots that start at the sender's cursor `low` arrived; Accepted books them as received.
  // slot_count 0 only moves past what was lost.
  GCOORD_HD constexpr CursorVerdict on_slots(std::uint32_t low, std::uint32_t slot_count) {
    const std::uint64_t first = widen_cursor(low, received);
    if (first < received) {
      return CursorVerdict::Stale;
    }
    if (!was_granted(first + slot_count)) {
      return CursorVerdict::Overrun;
    }
    const std::uint64_t gap = first - received;
    lost += gap;
    consumed += gap;
    received = first + slot_count;
    return CursorVerdict::Accepted;
  }

  // Whether the sender may have filled its places up to a cursor.
  GCOORD_HD constexpr bool was_granted(std::uint64_t end) const { return end <= told + capacity; }

  GCOORD_HD constexpr void consume(std::uint32_t slot_count) {
    GCOORD_ASSERT(consumed + slot_count <= received);
    consumed += slot_count;
  }

  // True when the sender should be told without waiting for a frame that goes its way anyway.
  GCOORD_HD constexpr bool wants_grant() const {
    const bool news = consumed != told;
    const bool half_consumed = (consumed - told) * 2 > capacity;
    const bool sender_is_low = (told + capacity - received) * 4 < capacity;
    return news & (half_consumed | sender_is_low);
  }

  // The cursor to write into an outgoing frame.
  GCOORD_HD constexpr std::uint32_t tell() {
    told = consumed;
    return static_cast<std::uint32_t>(told);
  }
};

}  // namespace gcoord::netcore
