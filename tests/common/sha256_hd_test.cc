// The rounds of SHA-256 in our own words, on the host and in a kernel.
#include "common/random.h"
#include "common/sha256_block.h"
#include "common/sha256_pair.h"
#include "tests/hd_test.h"

namespace gcoord {
namespace {

// FIPS 180-4's example of one block: "abc".
HD_TEST(Sha256Block, OfAbcIsThePublishedDigest) {
  Sha256Block block{};
  block.word[0] = 0x61626380;
  block.word[15] = 24;
  Sha256Words state = sha256_start();
  sha256::add_block(state, block);
  const Sha256Words published{{0xba7816bf,
                               0x8f01cfea,
                               0x414140de,
                               0x5dae2223,
                               0xb00361a3,
                               0x96177a9c,
                               0xb410ff61,
                               0xf20015ad}};
  HD_EXPECT(state == published);
}

TEST(Sha256Block, RoundsEqualTheProcessorsOwn) {
  Sha256Words state = sha256_start();
  Sha256Words other = state;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Sha256Block block;
    for (std::uint32_t i = 0; i < 16; ++i) {
      block.word[i] = static_cast<std::uint32_t>(random64(seed, 0, i));
    }
    sha256::add_block(state, block);
    sha256_add_block_on_host(other, block);
    ASSERT_TRUE(state == other) << seed;
  }
}

TEST(Sha256Block, TwoMessagesSideBySideAreTheSameAsOneByOne) {
  Sha256Words alone[2] = {sha256_start(), sha256_start()};
  Sha256Words beside[2] = {sha256_start(), sha256_start()};
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Sha256Block blocks[2];
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      for (std::uint32_t i = 0; i < 16; ++i) {
        blocks[lane].word[i] = static_cast<std::uint32_t>(random64(seed, lane, i));
      }
      sha256::add_block(alone[lane], blocks[lane]);
    }
    sha256_add_two_blocks({beside[0], beside[1]}, blocks);
    ASSERT_TRUE(alone[0] == beside[0]) << seed;
    ASSERT_TRUE(alone[1] == beside[1]) << seed;
  }
}

}  // namespace
}  // namespace gcoord
