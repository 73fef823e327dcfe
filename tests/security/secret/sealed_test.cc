#include "security/secret/sealed.h"

#include "security/secret/errors.h"
#include "security/secret/keyed.h"

#include <gtest/gtest.h>

#include <string_view>

namespace gcoord::security {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

class SealedTest : public testing::Test {
 protected:
  const SecretBytes key_ = random_secret(kSealKeyBytes);
  const std::vector<std::byte> sealed_ = seal(key_.bytes(), bytes_of("join 4"), bytes_of("secret"));
};

TEST_F(SealedTest, OpensWithItsKeyAndContext) {
  const auto plain = open_seal(key_.bytes(), bytes_of("join 4"), sealed_);
  ASSERT_TRUE(plain.ok()) << plain.status().to_string();
  EXPECT_EQ(plain.value().text(), "secret");
  EXPECT_EQ(sealed_.size(), kSealBytes + 6);
}

TEST_F(SealedTest, IsNeverTwiceTheSame) {
  EXPECT_NE(seal(key_.bytes(), bytes_of("join 4"), bytes_of("secret")), sealed_);
}

TEST_F(SealedTest, DoesNotOpenForAnother) {
  const SecretBytes other = random_secret(kSealKeyBytes);
  EXPECT_EQ(open_seal(other.bytes(), bytes_of("join 4"), sealed_).status().detail(), kSealBroken);
  EXPECT_EQ(open_seal(key_.bytes(), bytes_of("join 5"), sealed_).status().detail(), kSealBroken);
}

TEST_F(SealedTest, DoesNotOpenWithAnyChangedOrMissingByte) {
  for (std::size_t at = 0; at < sealed_.size(); ++at) {
    auto changed = sealed_;
    changed[at] ^= std::byte{1};
    EXPECT_FALSE(open_seal(key_.bytes(), bytes_of("join 4"), changed).ok()) << at;
    EXPECT_FALSE(open_seal(key_.bytes(), bytes_of("join 4"), std::span{sealed_}.first(at)).ok())
        << at;
  }
}

}  // namespace
}  // namespace gcoord::security
