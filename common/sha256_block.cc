// As in name_hash.cc: what replaces the direct functions looks the algorithm up by name.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "common/sha256_block.h"

#include "common/sha256_pair.h"

#include <openssl/sha.h>

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace gcoord {
namespace {

#if defined(__x86_64__)

#define GCOORD_SHA_TARGET __attribute__((target("sha,sse4.1,ssse3")))

// Of CPUID leaf 7 and leaf 1: the processor's own rounds, and the shuffles around them.
bool processor_has_rounds() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  const bool sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
  return sha && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_1) != 0 &&
         (c & bit_SSSE3) != 0;
}

// One message on its way through the rounds, as the instructions want it.
struct Lane {
  __m128i abef;
  __m128i cdgh;
  __m128i words[4];  // Of the schedule, by four; the oldest is replaced.
};

GCOORD_SHA_TARGET __m128i load_words(const std::uint32_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

GCOORD_SHA_TARGET void begin(Lane& lane, const Sha256Words& state, const Sha256Block& block) {
  const __m128i cdab = _mm_shuffle_epi32(load_words(&state.word[0]), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(load_words(&state.word[4]), 0x1b);
  lane.abef = _mm_alignr_epi8(cdab, efgh, 8);
  lane.cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (int k = 0; k < 4; ++k) {
    lane.words[k] = load_words(&block.word[4 * k]);
  }
}

GCOORD_SHA_TARGET void end(const Lane& lane, Sha256Words& state) {
  const __m128i feba = _mm_shuffle_epi32(lane.abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(lane.cdgh, 0xb1);
  auto* to = reinterpret_cast<__m128i*>(state.word);
  const __m128i low = _mm_blend_epi16(feba, dchg, 0xf0);
  const __m128i high = _mm_alignr_epi8(dchg, feba, 8);
  _mm_storeu_si128(to, _mm_add_epi32(_mm_loadu_si128(to), low));
  _mm_storeu_si128(to + 1, _mm_add_epi32(_mm_loadu_si128(to + 1), high));
}

// The keys of the rounds (FIPS 180-4, 4.2.2), once more: a device has its own in constant memory.
alignas(16) constexpr std::uint32_t kKeys[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Four rounds with the words at `place`, which the schedule replaces first, but for the first
// sixteen.
template <bool Scheduled>
GCOORD_SHA_TARGET inline void four_rounds(Lane& lane, const std::uint32_t* keys, int place) {
  __m128i& oldest = lane.words[place];
  if constexpr (Scheduled) {
    const __m128i newest = lane.words[(place + 3) & 3];
    const __m128i far = _mm_sha256msg1_epu32(oldest, lane.words[(place + 1) & 3]);
    const __m128i near = _mm_alignr_epi8(newest, lane.words[(place + 2) & 3], 4);
    oldest = _mm_sha256msg2_epu32(_mm_add_epi32(far, near), newest);
  }
  const __m128i keyed = _mm_add_epi32(oldest, load_words(keys + 4 * place));
  lane.cdgh = _mm_sha256rnds2_epu32(lane.cdgh, lane.abef, keyed);
  lane.abef = _mm_sha256rnds2_epu32(lane.abef, lane.cdgh, _mm_shuffle_epi32(keyed, 0x0e));
}

template <bool Scheduled>
GCOORD_SHA_TARGET inline void sixteen_rounds(Lane& one, const std::uint32_t* keys) {
  four_rounds<Scheduled>(one, keys, 0);
  four_rounds<Scheduled>(one, keys, 1);
  four_rounds<Scheduled>(one, keys, 2);
  four_rounds<Scheduled>(one, keys, 3);
}

template <bool Scheduled>
GCOORD_SHA_TARGET inline void sixteen_rounds(Lane& one, Lane& two, const std::uint32_t* keys) {
  four_rounds<Scheduled>(one, keys, 0);
  four_rounds<Scheduled>(two, keys, 0);
  four_rounds<Scheduled>(one, keys, 1);
  four_rounds<Scheduled>(two, keys, 1);
  four_rounds<Scheduled>(one, keys, 2);
  four_rounds<Scheduled>(two, keys, 2);
  four_rounds<Scheduled>(one, keys, 3);
  four_rounds<Scheduled>(two, keys, 3);
}

GCOORD_SHA_TARGET void add_block(Sha256Words& state, const Sha256Block& block) {
  Lane one;
  begin(one, state, block);
  sixteen_rounds<false>(one, kKeys);
  for (int round = 16; round < 64; round += 16) {
    sixteen_rounds<true>(one, kKeys + round);
  }
  end(one, state);
}

// A round waits for the one before it, so two messages side by side take little longer than one.
GCOORD_SHA_TARGET void add_two_blocks(const Sha256Pair& states, const Sha256Block (&blocks)[2]) {
  Lane one;
  Lane two;
  begin(one, states.first, blocks[0]);
  begin(two, states.second, blocks[1]);
  sixteen_rounds<false>(one, two, kKeys);
  for (int round = 16; round < 64; round += 16) {
    sixteen_rounds<true>(one, two, kKeys + round);
  }
  end(one, states.first);
  end(two, states.second);
}

const bool kProcessorHasRounds = processor_has_rounds();

#endif

void add_by_openssl(Sha256Words& state, const Sha256Block& block) {
  SHA256_CTX context;
  std::array<std::uint32_t, 16> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = __builtin_bswap32(block.word[i]);
  }
  std::memcpy(context.h, state.word, sizeof context.h);
  SHA256_Transform(&context, reinterpret_cast<const unsigned char*>(bytes.data()));
  std::memcpy(state.word, context.h, sizeof context.h);
}

}  // namespace

void sha256_add_block_on_host(Sha256Words& state, const Sha256Block& block) {
#if defined(__x86_64__)
  if (kProcessorHasRounds) {
    add_block(state, block);
    return;
  }
#endif
  add_by_openssl(state, block);
}

void sha256_add_two_blocks(const Sha256Pair& states, const Sha256Block (&blocks)[2]) {
#if defined(__x86_64__)
  if (kProcessorHasRounds) {
    add_two_blocks(states, blocks);
    return;
  }
#endif
  add_by_openssl(states.first, blocks[0]);
  add_by_openssl(states.second, blocks[1]);
}

}  // namespace gcoord
