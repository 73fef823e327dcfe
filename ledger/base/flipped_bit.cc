#include "ledger/base/flipped_bit.h"

namespace gcoord::ledger {

std::optional<FlippedBit> find_flipped_bit(std::uint32_t stored,
                                           std::uint32_t found,
                                           std::uint64_t byte_count) {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;  // Reflected, as common/crc32c.h says.
  const std::uint32_t difference = stored ^ found;
  std::uint32_t of_bit = kPolynomial;  // Of the very last bit; each bit before it is one step on.
  for (std::uint64_t behind = 0; behind < 8 * byte_count; ++behind) {
    if (of_bit == difference) {
      return FlippedBit{byte_count - 1 - behind / 8, static_cast<unsigned>(7 - behind % 8)};
    }
    of_bit = of_bit >> 1 ^ ((of_bit & 1u) != 0 ? kPolynomial : 0u);
  }
  return std::nullopt;
}

}  // namespace gcoord::ledger
