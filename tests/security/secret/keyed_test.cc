#include "security/secret/keyed.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::security {
namespace {

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> out;
  for (std::size_t at = 0; at < hex.size(); at += 2) {
    out.push_back(static_cast<std::byte>(std::stoul(std::string{hex.substr(at, 2)}, nullptr, 16)));
  }
  return out;
}

std::string to_hex(const SecretBytes& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::byte each : bytes.bytes()) {
    out += kDigits[std::to_integer<std::size_t>(each) >> 4];
    out += kDigits[std::to_integer<std::size_t>(each) & 15];
  }
  return out;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

// RFC 4231, test cases 1, 2 and 6.
TEST(HmacSha256, IsThatOfTheStandard) {
  EXPECT_EQ(to_hex(hmac_sha256(std::vector(20, std::byte{0x0b}), {bytes_of("Hi There")})),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(to_hex(hmac_sha256(bytes_of("Jefe"), {bytes_of("what do ya want for nothing?")})),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      to_hex(hmac_sha256(std::vector(131, std::byte{0xaa}),
                         {bytes_of("Test Using Larger Than Block-Size Key - Hash Key First")})),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(HmacSha256, TakesItsPartsOneBehindTheOther) {
  EXPECT_EQ(hmac_sha256(bytes_of("Jefe"), {bytes_of("what do ya "), bytes_of("want")}),
            hmac_sha256(bytes_of("Jefe"), {bytes_of("what do ya want")}));
}

// RFC 5869, test cases 1 and 3.
TEST(HkdfSha256, IsThatOfTheStandard) {
  const auto purpose_bytes = from_hex("f0f1f2f3f4f5f6f7f8f9");
  const std::string_view purpose{reinterpret_cast<const char*>(purpose_bytes.data()),
                                 purpose_bytes.size()};
  EXPECT_EQ(
      to_hex(hkdf_sha256(
          std::vector(22, std::byte{0x0b}), from_hex("000102030405060708090a0b0c"), purpose, 42)),
      "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  EXPECT_EQ(to_hex(hkdf_sha256(std::vector(22, std::byte{0x0b}), {}, "", 42)),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(RandomSecrets, Differ) {
  EXPECT_FALSE(random_secret(32) == random_secret(32));
  EXPECT_EQ(random_secret(7).size(), 7u);
}

}  // namespace
}  // namespace gcoord::security
