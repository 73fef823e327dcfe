#include "common/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace gcoord {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78u;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1) ^ ((remainder & 1u) != 0 ? kPolynomial : 0u);
    }
    table[byte] = remainder;
  }
  return table;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::span<const std::byte> bytes,
                                                             std::uint32_t previous) {
  std::uint64_t state = ~previous;
  while (bytes.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    state = _mm_crc32_u64(state, word);
    bytes = bytes.subspan(sizeof word);
  }
  auto tail = static_cast<std::uint32_t>(state);
  for (const std::byte byte : bytes) {
    tail = _mm_crc32_u8(tail, std::to_integer<unsigned char>(byte));
  }
  return ~tail;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t previous) {
  static constexpr auto kTable = make_table();
  std::uint32_t state = ~previous;
  for (const std::byte byte : bytes) {
    state = (state >> 8) ^ kTable[(state ^ std::to_integer<std::uint32_t>(byte)) & 0xffu];
  }
  return ~state;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous) {
#if defined(__x86_64__)
  static const bool has_sse42 = __builtin_cpu_supports("sse4.2") != 0;
  if (has_sse42) {
    return crc32c_sse42(bytes, previous);
  }
#endif
  return crc32c_portable(bytes, previous);
}

}  // namespace gcoord
