// SipHash-2-4: a keyed hash of 64 bits for short messages (Aumasson, Bernstein: SipHash: a fast
// short-input PRF, INDOCRYPT 2012).
//
// As good as its key is secret: with a key that others know it only tells what was meant for this
// reader from what was not. Pure; thread-safe.
#pragma once

#include "common/bytes.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord {

struct SipKey {
  std::uint64_t low = 0;   // Bytes 0 to 7 of the key, little-endian.
  std::uint64_t high = 0;  // Bytes 8 to 15.

  friend bool operator==(const SipKey& a, const SipKey& b) = default;
};

namespace detail {

class SipState {
 public:
  explicit SipState(const SipKey& key)
      : v0_(key.low ^ 0x736f6d6570736575u),
        v1_(key.high ^ 0x646f72616e646f6du),
        v2_(key.low ^ 0x6c7967656e657261u),
        v3_(key.high ^ 0x7465646279746573u) {}

  void add(std::uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
  }

  std::uint64_t finish() {
    v2_ ^= 0xff;
    for (int k = 0; k < 4; ++k) {
      round();
    }
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_;
  std::uint64_t v1_;
  std::uint64_t v2_;
  std::uint64_t v3_;
};

}  // namespace detail

inline std::uint64_t siphash(const SipKey& key, std::span<const std::byte> bytes) {
  detail::SipState state{key};
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    state.add(load<std::uint64_t>(bytes.data() + at));
  }
  std::uint64_t last = std::uint64_t{bytes.size()} << 56;
  for (std::size_t k = 0; at + k < bytes.size(); ++k) {
    last |= std::uint64_t{std::to_integer<std::uint8_t>(bytes[at + k])} << (8 * k);
  }
  state.add(last);
  return state.finish();
}

}  // namespace gcoord
