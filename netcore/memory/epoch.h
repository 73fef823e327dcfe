// The order of the epochs of a channel, which go round.
//
// Epochs are 1 to kEpochCount; 0 is none. The first is 1, by which a node says that it remembers
// none, so the one after the last is 2. Of two epochs the later one is the one that is less than
// half of the circle ahead of the other, as with the serial numbers of RFC 1982. So a pair of nodes
// never runs out of epochs, however often it reconnects and whatever a forged greeting claims, and
// an epoch comes back only after half of the circle has been used or jumped over. Nothing else
// tells old from new by these numbers: a channel compares its epoch for equality alone. Pure; any
// thread.
#pragma once

#include <cstdint>

namespace gcoord::netcore {

inline constexpr std::uint32_t kEpochCount = 1u << 31;

// The epoch that follows; of none, the first one.
constexpr std::uint32_t epoch_after(std::uint32_t epoch) {
  return epoch >= kEpochCount ? 2 : epoch + 1;
}

// How far the one epoch is ahead of the other, round the circle.
constexpr std::uint32_t epoch_steps(std::uint32_t from, std::uint32_t to) {
  return (to - from) % kEpochCount;
}

// Whether the epoch is later than the other one; each is later than none, and none than nothing.
constexpr bool is_later_epoch(std::uint32_t epoch, std::uint32_t than) {
  if (epoch == 0 || than == 0) {
    return epoch != 0 && than == 0;
  }
  const std::uint32_t steps = epoch_steps(than, epoch);
  return steps != 0 && steps < kEpochCount / 2;
}

constexpr std::uint32_t later_epoch(std::uint32_t one, std::uint32_t other) {
  return is_later_epoch(other, one) ? other : one;
}

}  // namespace gcoord::netcore
