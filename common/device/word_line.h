// A line of words that several threads change and search at once.
//
// What: eight 64-bit words, one cache line of a host and two sectors of a device. A search looks at
// the first seven, and gets the last one along. Why here: a device is fastest when it loads the
// whole line at once and then decides, a host when it loads a word at a time from where the wanted
// one likely stands, and stops there. Every word seen is one that was there at some time, and a
// word that this thread wrote last is the one that it wrote; words need not belong together. On a
// device these are weak loads, which the first-level cache may answer: the memory model describes
// races of accesses of one size (PTX ISA 8.8, "Limitations on Mixed-size Data-races"), and a
// thread's own writes come before its later loads. Lock-free; host and device.
#pragma once

#include "common/bits.h"
#include "common/hd.h"

#include <atomic>
#include <cstdint>

namespace gcoord {

struct alignas(64) WordLine {
  static constexpr std::uint32_t kSlots = 7;

  std::uint64_t slot[kSlots] = {};
  std::uint64_t last = 0;
};

static_assert(sizeof(WordLine) == 64);

// Calls visit(place, word) for slots whose word is wanted(word), in any order but from `start` on
// where order costs nothing, until it says true. Returns whether it did; if not, `last` is the last
// word. start < kSlots.
template <typename Wanted, typename Visit>
GCOORD_HD bool visit_slots(const WordLine& line,
                           std::uint32_t start,
                           const Wanted& wanted,
                           const Visit& visit,
                           std::uint64_t& last) {
#if defined(__CUDA_ARCH__)
  const WordLine seen = line;
  std::uint32_t slots = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < WordLine::kSlots; ++i) {
    slots |= (wanted(seen.slot[i]) ? 1u : 0u) << i;
  }
#pragma unroll 1
  for (; slots != 0; slots &= slots - 1) {
    const std::uint32_t place = lowest_bit(slots);
    std::uint64_t word = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < WordLine::kSlots; ++i) {
      word = i == place ? seen.slot[i] : word;  // Without an address, so that all stay registers.
    }
    if (visit(place, word)) {
      return true;
    }
  }
  last = seen.last;
  (void)start;
  return false;
#else
  const auto load = [](const std::uint64_t& word) {
    return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(word))
        .load(std::memory_order_relaxed);
  };
  std::uint32_t place = start;
  for (std::uint32_t i = 0; i < WordLine::kSlots; ++i) {
    const std::uint64_t word = load(line.slot[place]);
    if (wanted(word) && visit(place, word)) {
      return true;
    }
    place = place + 1 == WordLine::kSlots ? 0 : place + 1;
  }
  last = load(line.last);
  return false;
#endif
}

}  // namespace gcoord
