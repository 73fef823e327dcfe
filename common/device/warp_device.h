// A group of threads that work on one thing in step: a warp on a device, one thread on the host.
//
// Code written against these functions runs unchanged in both places: the host's group has one
// member, so its votes and exchanges are identities. On a device all 32 lanes of a warp call each
// function together, with converged control flow; branches between calls depend only on values that
// the whole group shares (a ballot, a broadcast). Nothing waits for another group.
//
// Why a warp and not a block: a warp needs no barrier in memory to agree, so a function that works
// in a group costs a vote where a block would cost a round trip through its multiprocessor. Why not
// a thread: 32 neighbours store and load whole lines together, one alone moves a quarter of one.
// Refused: cooperative_groups, whose objects the host's compilers do not know.
#pragma once

#include "common/bits.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord {

// Members of the group: 32 or 1. A function and not a constant, because both passes of nvcc see the
// same types: nothing may be laid out by it.
GCOORD_HD inline std::uint32_t warp_lanes() {
#if defined(__CUDA_ARCH__)
  return 32;
#else
  return 1;
#endif
}

// This thread's number in its group, below warp_lanes(). Blocks are one-dimensional and a multiple
// of 32 threads; a partial warp would never meet in warp_sync().
GCOORD_HD inline std::uint32_t warp_rank() {
#if defined(__CUDA_ARCH__)
  return threadIdx.x % 32;
#else
  return 0;
#endif
}

// Every member arrives before any leaves; what members wrote before is visible to the others after,
// and ordered before what one of them then releases to other devices (O1 of
// docs/internals/memory_order.md: cumulative).
GCOORD_HD inline void warp_sync() {
#if defined(__CUDA_ARCH__)
  __syncwarp();
#endif
}

// Groups of one block arrive before any leaves; groups that have ended do not count. Nothing on a
// host. Not for agreement: it keeps groups that run the same long code close together, so that they
// share what the instruction cache holds.
GCOORD_HD inline void block_meet() {
#if defined(__CUDA_ARCH__)
  __syncthreads();
#endif
}

// As block_meet(); whether any of those that meet says yes.
GCOORD_HD inline bool block_any(bool answer) {
#if defined(__CUDA_ARCH__)
  return __syncthreads_or(answer ? 1 : 0) != 0;
#else
  return answer;
#endif
}

// Bit i is member i's answer; every member gets the same word, so a branch on it stays converged.
GCOORD_HD inline std::uint32_t warp_ballot(bool answer) {
#if defined(__CUDA_ARCH__)
  return __ballot_sync(0xffffffffu, answer ? 1 : 0);
#else
  return answer ? 1 : 0;
#endif
}

// Member `from`'s word. `from` is below warp_lanes(); each member may name another.
GCOORD_HD inline std::uint32_t warp_broadcast(std::uint32_t value, std::uint32_t from) {
#if defined(__CUDA_ARCH__)
  return __shfl_sync(0xffffffffu, value, static_cast<int>(from));
#else
  return from == 0 ? value : 0;
#endif
}

// As above, of a 64-bit word.
GCOORD_HD inline std::uint64_t warp_broadcast(std::uint64_t value, std::uint32_t from) {
#if defined(__CUDA_ARCH__)
  return __shfl_sync(0xffffffffu, value, static_cast<int>(from));
#else
  return from == 0 ? value : 0;
#endif
}

// The sum of all members' words, to all.
GCOORD_HD inline std::uint32_t warp_sum(std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return __reduce_add_sync(0xffffffffu, value);
#else
  return value;
#endif
}

// The same of 64-bit words; wraps.
GCOORD_HD inline std::uint64_t warp_sum(std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
#endif
  return value;
}

// How many of the lowest bits are set before the first that is not; at most `limit`. Of a ballot:
// how many members in a row, from the first, said yes. Of a power of two less one: its exponent.
GCOORD_HD inline std::uint32_t leading_run(std::uint32_t bits, std::uint32_t limit) {
#if defined(__CUDA_ARCH__)
  const std::uint32_t first_zero = bits == ~0u ? 32u : static_cast<std::uint32_t>(__ffs(~bits)) - 1;
#else
  const std::uint32_t first_zero =
      bits == ~0u ? 32u : static_cast<std::uint32_t>(__builtin_ctz(~bits));
#endif
  return first_zero < limit ? first_zero : limit;
}

// How many members below this one said yes in a ballot: its place among them.
GCOORD_HD inline std::uint32_t rank_among(std::uint32_t bits) {
  return count_bits(bits & ((1u << warp_rank()) - 1));
}

// The sum of the values of all members below this one.
GCOORD_HD inline std::uint32_t warp_sum_below(std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  std::uint32_t sum = value;
  for (std::uint32_t distance = 1; distance < 32; distance *= 2) {
    const std::uint32_t below = __shfl_up_sync(0xffffffffu, sum, distance);
    sum += warp_rank() >= distance ? below : 0;
  }
  return sum - value;
#else
  static_cast<void>(value);
  return 0;
#endif
}

// Bit i: member i brought the same value as this member.
GCOORD_HD inline std::uint32_t warp_match(std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  return __match_any_sync(0xffffffffu, value);
#else
  static_cast<void>(value);
  return 1;
#endif
}

// The least value of all members, to all.
GCOORD_HD inline std::uint64_t warp_least(std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  for (int distance = 16; distance > 0; distance /= 2) {
    const std::uint64_t other = __shfl_xor_sync(0xffffffffu, value, distance);
    value = other < value ? other : value;
  }
#endif
  return value;
}

}  // namespace gcoord
