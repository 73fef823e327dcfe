// What the compiler is told of memory changes nothing of what is read and written.
#include "common/device/aligned_copy.h"
#include "common/device/shared_memory.h"
#include "common/random.h"
#include "tests/hd_test.h"

namespace gcoord {
namespace {

struct alignas(16) Mixed {
  std::uint32_t word;
  std::uint8_t bytes[12];
  std::uint64_t wide[6];
};

struct alignas(64) Place {
  std::byte bytes[sizeof(Mixed)];
};

GCOORD_HD Mixed mixed_of(std::uint32_t seed) {
  Mixed mixed{};
  mixed.word = static_cast<std::uint32_t>(random64(seed, 0, 1));
  for (std::uint32_t k = 0; k < 12; ++k) {
    mixed.bytes[k] = static_cast<std::uint8_t>(random64(seed, 1, k));
  }
  for (std::uint32_t k = 0; k < 6; ++k) {
    mixed.wide[k] = random64(seed, 2, k);
  }
  return mixed;
}

GCOORD_HD bool equal(const Mixed& one, const Mixed& other) {
  bool same = one.word == other.word;
  for (std::uint32_t k = 0; k < 12; ++k) {
    same = same && one.bytes[k] == other.bytes[k];
  }
  for (std::uint32_t k = 0; k < 6; ++k) {
    same = same && one.wide[k] == other.wide[k];
  }
  return same;
}

HD_TEST(AlignedCopy, BringsBackWhatWasStored) {
  Place places[3]{};
  const Mixed mixed = mixed_of(seed);
  store_aligned<alignof(Place)>(&places[1], mixed);
  HD_EXPECT(equal(load_aligned<Mixed>(&places[1]), mixed));
  for (const std::byte each : places[0].bytes) {
    HD_EXPECT(each == std::byte{});
  }
  for (const std::byte each : places[2].bytes) {
    HD_EXPECT(each == std::byte{});
  }
}

// 128 threads a block (hd_test.h).
HD_TEST(SharedMemory, IsTheSameObjectByEitherName) {
#if defined(__CUDA_ARCH__)
  __shared__ Mixed table[128];
  Mixed& mine = table[threadIdx.x % 128];
#else
  Mixed mine;
#endif
  mine = mixed_of(seed);
  HD_EXPECT(&in_shared(mine) == &mine);
  HD_EXPECT(equal(in_shared(mine), mine));
  in_shared(mine).wide[seed % 6] += 1;
  Mixed expected = mixed_of(seed);
  expected.wide[seed % 6] += 1;
  HD_EXPECT(equal(mine, expected));
}

}  // namespace
}  // namespace gcoord
