// SHA-256 (FIPS 180-4) one block at a time: what hashes of many short messages are made of.
//
// Words are the values that FIPS 180-4 writes, most significant byte first. On a device the rounds
// below, all in registers; on the host the processor's own instructions where there are any, else
// OpenSSL's block function. Equal inputs give equal words. Pure; host and device.
#pragma once

#include "common/hd.h"

#include <cstdint>

namespace gcoord {

// A state between blocks, or a digest.
struct alignas(16) Sha256Words {
  std::uint32_t word[8];

  GCOORD_HD friend bool operator==(const Sha256Words& a, const Sha256Words& b) {
    std::uint32_t different = 0;
    GCOORD_UNROLL
    for (int i = 0; i < 8; ++i) {
      different |= a.word[i] ^ b.word[i];
    }
    return different == 0;
  }
};

// 64 bytes of message.
struct Sha256Block {
  std::uint32_t word[16];
};

// The state before the first block (FIPS 180-4, 5.3.3).
GCOORD_HD inline Sha256Words sha256_start() {
  return {{0x6a09e667,
           0xbb67ae85,
           0x3c6ef372,
           0xa54ff53a,
           0x510e527f,
           0x9b05688c,
           0x1f83d9ab,
           0x5be0cd19}};
}

// The host's block function. Thread-safe.
void sha256_add_block_on_host(Sha256Words& state, const Sha256Block& block);

namespace sha256 {

GCOORD_HD inline std::uint32_t rotated(std::uint32_t value, int right) {
  return value >> right | value << (32 - right);
}

// One round (6.2.2, step 3) on variables that are named in turn, so that none of them is moved.
GCOORD_HD inline void round(std::uint32_t (&v)[8], int turn, std::uint32_t key) {
  std::uint32_t& a = v[(0 - turn) & 7];
  std::uint32_t& b = v[(1 - turn) & 7];
  std::uint32_t& c = v[(2 - turn) & 7];
  std::uint32_t& d = v[(3 - turn) & 7];
  std::uint32_t& e = v[(4 - turn) & 7];
  std::uint32_t& f = v[(5 - turn) & 7];
  std::uint32_t& g = v[(6 - turn) & 7];
  std::uint32_t& h = v[(7 - turn) & 7];
  const std::uint32_t choice = (e & f) ^ (~e & g);
  const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
  const std::uint32_t t1 = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + key;
  d += t1;
  h = t1 + (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority;
}

// The next word of the message schedule (6.2.2, step 1), in the place of the oldest.
GCOORD_HD inline std::uint32_t scheduled(std::uint32_t (&w)[16], int t) {
  const std::uint32_t far = w[(t + 1) & 15];
  const std::uint32_t near = w[(t + 14) & 15];
  w[t & 15] += (rotated(far, 7) ^ rotated(far, 18) ^ far >> 3) + w[(t + 9) & 15] +
               (rotated(near, 17) ^ rotated(near, 19) ^ near >> 10);
  return w[t & 15];
}

// The rounds in the compiler's own words. Sixteen rounds are one body that is gone through four
// times, the first without a schedule: unrolled to the end they are 22 KB of instructions that run
// once each, and warps waited for those a sixth of their time (one H200: 9 G blocks/s, so 10.6).
GCOORD_HD_FLAT void add_block(Sha256Words& state, const Sha256Block& block) {
  // Constant, and static only to lie in constant memory: no register can index an array of values.
  static constexpr std::uint32_t kKeys[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
      0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
      0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
      0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
      0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
      0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
      0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
      0xc67178f2};
  std::uint32_t v[8];
  std::uint32_t w[16];
  GCOORD_UNROLL
  for (int i = 0; i < 8; ++i) {
    v[i] = state.word[i];
  }
  GCOORD_UNROLL
  for (int t = 0; t < 16; ++t) {
    w[t] = block.word[t];
    round(v, t, kKeys[t] + w[t]);
  }
  GCOORD_UNROLL_BY(1)
  for (int begin = 16; begin < 64; begin += 16) {
    GCOORD_UNROLL
    for (int t = 0; t < 16; ++t) {
      round(v, t, kKeys[begin + t] + scheduled(w, t));
    }
  }
  GCOORD_UNROLL
  for (int i = 0; i < 8; ++i) {
    state.word[i] += v[i];
  }
}

}  // namespace sha256

// Takes one more block into the state.
GCOORD_HD_FLAT void sha256_add_block(Sha256Words& state, const Sha256Block& block) {
#if defined(__CUDA_ARCH__)
  sha256::add_block(state, block);
#else
  sha256_add_block_on_host(state, block);
#endif
}

}  // namespace gcoord
