// Word that says who of a group, or of a round of a rendezvous, is alive: 16 bytes for kernels too.
//
// `epoch` is that of the group's newest view, or the number of the round. Bit r of `mask` is set
// while the member of rank r is alive, for ranks below 64. In a view ranks are dense, so the mask
// has as many bits as the view has members, and each change is another epoch; a round keeps its
// ranks, so bits go out under one epoch until the next round. Of more than 64 members the mask
// says nothing about the others; the view or the round does. 0 and 0: there was none.
//
// A plain value that is copied as it is, into a device's memory too. Host and device.
#pragma once

#include "common/hd.h"

#include <cstdint>
#include <type_traits>

namespace gcoord::membership {

inline constexpr std::uint32_t kAliveRanks = 64;

struct alignas(16) AliveWord {
  std::uint64_t epoch = 0;
  std::uint64_t mask = 0;

  GCOORD_HD friend constexpr bool operator==(AliveWord a, AliveWord b) {
    return a.epoch == b.epoch && a.mask == b.mask;
  }
};

static_assert(sizeof(AliveWord) == 16);
static_assert(std::is_trivially_copyable_v<AliveWord>);

// The bit of a rank; 0 from kAliveRanks on.
GCOORD_HD constexpr std::uint64_t alive_bit(std::uint32_t rank) {
  return rank < kAliveRanks ? std::uint64_t{1} << rank : 0;
}

// Of a view with so many members.
GCOORD_HD constexpr AliveWord alive_word_of_view(std::uint64_t epoch, std::uint32_t member_count) {
  return {epoch, member_count < kAliveRanks ? alive_bit(member_count) - 1 : ~std::uint64_t{0}};
}

}  // namespace gcoord::membership
