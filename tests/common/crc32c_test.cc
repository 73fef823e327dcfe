#include "common/crc32c.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord {
namespace {

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

// RFC 3720, appendix B.4: the four 32-byte vectors, and the check value of the CRC catalogues.
TEST(Crc32c, MatchesTheVectorsOfRfc3720) {
  std::array<std::byte, 32> bytes{};
  EXPECT_EQ(crc32c(bytes), 0x8a9136aau);
  bytes.fill(std::byte{0xff});
  EXPECT_EQ(crc32c(bytes), 0x62a8ab43u);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i);
  }
  EXPECT_EQ(crc32c(bytes), 0x46dd794eu);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(31 - i);
  }
  EXPECT_EQ(crc32c(bytes), 0x113fdb5cu);
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283u);
}

TEST(Crc32c, OfNothingIsWhatCameBefore) {
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c({}, 0xe3069283u), 0xe3069283u);
}

TEST(Crc32c, SeesEverySingleBitFlip) {
  std::array<std::byte, 67> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i * 37);
  }
  const auto intact = crc32c(bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(crc32c(bytes), intact) << "bit " << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

RC_GTEST_PROP(Crc32c, IsTheSameByTableAndByInstruction, (const std::vector<unsigned char>& bytes)) {
  const auto span = std::as_bytes(std::span{bytes});
  RC_ASSERT(crc32c(span) == crc32c_portable(span));
}

RC_GTEST_PROP(Crc32c, OfTwoPiecesIsThatOfTheWhole, (const std::vector<unsigned char>& bytes)) {
  const auto span = std::as_bytes(std::span{bytes});
  const auto cut = *rc::gen::inRange<std::size_t>(0, bytes.size() + 1);
  const auto head = span.first(cut);
  const auto tail = span.subspan(cut);
  RC_ASSERT(crc32c(tail, crc32c(head)) == crc32c(span));
  RC_ASSERT(crc32c_portable(tail, crc32c_portable(head)) == crc32c(span));
}

}  // namespace
}  // namespace gcoord
