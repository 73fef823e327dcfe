#include "security/credentials/token.h"

#include "common/base64.h"
#include "security/credentials/error_details.h"
#include "security/credentials/token_ring.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::security {
namespace {

const std::vector<std::byte> kSeed(32, std::byte{1});
const std::vector<std::byte> kFormer(32, std::byte{2});
constexpr std::uint64_t kNow = 1'800'000'000;

TokenClaims claims_of(std::string name) {
  return {.principal = {PrincipalKind::User, std::move(name)}, .roles_epoch = 9, .proven_s = kNow};
}

TEST(Token, AnotherNodeBelievesIt) {
  const std::string text = TokenRing{kSeed, {}}.issue(claims_of("ann"), kNow, 600);
  const auto read = TokenRing{kSeed, {}}.verify(text, kNow + 599);
  ASSERT_TRUE(read.ok()) << read.status().message();
  TokenClaims expected = claims_of("ann");
  expected.issued_s = kNow;
  expected.expires_s = kNow + 600;
  EXPECT_EQ(read.value(), expected);
}

TEST(Token, TheLongestNameFits) {
  const std::string text =
      TokenRing{kSeed, {}}.issue(claims_of(std::string(kPrincipalNameBytesMax, 'n')), kNow, 600);
  EXPECT_LE(text.size(), kTokenBytesMax);
  EXPECT_TRUE(TokenRing(kSeed, {}).verify(text, kNow).ok());
}

TEST(Token, ItsTimeEnds) {
  const TokenRing ring{kSeed, {}};
  const std::string text = ring.issue(claims_of("ann"), kNow, 600);
  EXPECT_EQ(ring.verify(text, kNow + 600).status().detail(), kTokenExpired);
  EXPECT_TRUE(ring.verify(text, kNow - kTokenClockSkewSeconds).ok());
  EXPECT_EQ(ring.verify(text, kNow - kTokenClockSkewSeconds - 1).status().detail(), kTokenExpired);
}

TEST(Token, NoLifeIsLongerThanADay) {
  const TokenRing ring{kSeed, {}};
  const std::string text = ring.issue(claims_of("ann"), kNow, ~std::uint64_t{0} - kNow);
  EXPECT_EQ(ring.verify(text, kNow).value().expires_s, kNow + kTokenLifeSecondsMax);
  // Whoever has the key and signs a longer one is not believed.
  TokenClaims claims = claims_of("ann");
  claims.issued_s = kNow;
  claims.expires_s = kNow + kTokenLifeSecondsMax + 1;
  EXPECT_EQ(ring.verify(TokenKey{kSeed}.issue(claims), kNow).status().detail(), kTokenExpired);
  claims.expires_s = kNow - 1;
  EXPECT_EQ(ring.verify(TokenKey{kSeed}.issue(claims), kNow).status().detail(), kTokenExpired);
}

TEST(Token, RenewalsEndADayAfterThePasswordWasShown) {
  const TokenRing ring{kSeed, {}};
  const std::uint64_t late = kNow + kTokenLifeSecondsMax - 100;
  const std::string text = ring.issue(claims_of("ann"), late, 600);
  EXPECT_EQ(ring.verify(text, late).value().expires_s, kNow + kTokenLifeSecondsMax);
  EXPECT_EQ(ring.verify(text, late + 100).status().detail(), kTokenExpired);
}

TEST(Token, AnotherClustersIsForeign) {
  const std::string text = TokenRing{kFormer, {}}.issue(claims_of("ann"), kNow, 600);
  EXPECT_EQ(TokenRing(kSeed, {}).verify(text, kNow).status().detail(), kTokenForeign);
  EXPECT_TRUE(TokenRing(kSeed, kFormer).verify(text, kNow).ok()) << "the secret of before";
}

TEST(Token, EveryChangedByteIsNoticed) {
  const TokenRing ring{kSeed, {}};
  const std::string text = ring.issue(claims_of("ann"), kNow, 600);
  auto bytes = *from_base64(text.substr(5));
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    bytes[place] ^= std::byte{1};
    EXPECT_FALSE(ring.verify("gct1." + to_base64(bytes), kNow).ok()) << place;
    bytes[place] ^= std::byte{1};
  }
  EXPECT_TRUE(ring.verify("gct1." + to_base64(bytes), kNow).ok());
}

TEST(Token, WhatIsNoneIsMalformed) {
  const TokenRing ring{kSeed, {}};
  const std::string text = ring.issue(claims_of("ann"), kNow, 600);
  for (const std::string& bad : {std::string{},
                                 std::string{"gct1."},
                                 text.substr(1),
                                 text + "=",
                                 text.substr(0, text.size() - 4),
                                 "gct2." + text.substr(5),
                                 std::string(100'000, 'a')}) {
    EXPECT_EQ(ring.verify(bad, kNow).status().detail(), kTokenMalformed) << bad.substr(0, 600);
  }
}

TEST(Token, NobodyAndNodesHaveNone) {
  const TokenRing ring{kSeed, {}};
  auto bytes = *from_base64(ring.issue(claims_of("ann"), kNow, 600).substr(5));
  for (const PrincipalKind kind : {PrincipalKind::Anonymous, PrincipalKind::Node}) {
    bytes[6] = static_cast<std::byte>(kind);
    EXPECT_EQ(parse_token("gct1." + to_base64(bytes)).status().detail(), kTokenMalformed);
  }
}

}  // namespace
}  // namespace gcoord::security
