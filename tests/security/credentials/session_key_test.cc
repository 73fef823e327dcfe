#include "security/credentials/session_key.h"

#include "security/credentials/error_details.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::security {
namespace {

const std::vector<std::byte> kSecret(32, std::byte{7});
const std::vector<std::byte> kFormer(32, std::byte{8});
constexpr SessionId kSession{0x0001'0002'0000'0003};

TEST(SessionKey, IsTheSameOnEveryNodeAndOfOneSession) {
  const SessionKeys one{kSecret, {}};
  const SessionKeys other{kSecret, {}};
  const SessionKey key = one.of(kSession);
  EXPECT_TRUE(other.fits(key, kSession));
  EXPECT_FALSE(other.fits(key, SessionId{kSession.value + 1}));
  EXPECT_FALSE(other.fits(SessionKey{}, kSession));
}

// By Python: hmac.new(b"\x07" * 32, b"gcoord session\0" + (0x0001000200000003).to_bytes(8,
// "little"), "sha256").
TEST(SessionKey, IsAnHmacAsOthersCompute) {
  EXPECT_EQ(SessionKeys(kSecret, {}).of(kSession).text(),
            "hmac-sha256:20072f6884ba9ae6ad49c02facd442bf609b5e0c286decaad7fac60b3d06fcb3");
}

TEST(SessionKey, ThePreviousSecretOpensAsLongAsItIsKept) {
  const SessionKey before = SessionKeys(kFormer, {}).of(kSession);
  EXPECT_TRUE(SessionKeys(kSecret, kFormer).fits(before, kSession));
  EXPECT_FALSE(SessionKeys(kSecret, {}).fits(before, kSession));
  EXPECT_EQ(SessionKeys(kSecret, kFormer).of(kSession), SessionKeys(kSecret, {}).of(kSession));
}

TEST(SessionKey, WithoutASecretNoKeyFits) {
  EXPECT_TRUE(SessionKeys{}.empty());
  EXPECT_FALSE(SessionKeys{}.fits(SessionKeys(kSecret, {}).of(kSession), kSession));
}

TEST(SessionKey, ItsBytesAndItsTextAreReadBack) {
  const SessionKey key = SessionKeys(kSecret, {}).of(kSession);
  EXPECT_EQ(SessionKey::decode(key.bytes()).value(), key);
  EXPECT_EQ(SessionKey::parse(key.text()).value(), key);
  EXPECT_EQ(SessionKey::parse("  " + key.text() + "\n").value(), key);
}

TEST(SessionKey, WhatIsNoneIsRefused) {
  const SessionKey key = SessionKeys(kSecret, {}).of(kSession);
  std::vector<std::byte> bytes(key.bytes().begin(), key.bytes().end());
  bytes[0] = std::byte{2};
  EXPECT_EQ(SessionKey::decode(bytes).status().detail(), kSessionKeyInvalid);
  EXPECT_FALSE(SessionKey::decode(key.bytes().first(32)).ok());
  std::string text = key.text();
  text[20] = 'G';
  EXPECT_EQ(SessionKey::parse(text).status().detail(), kSessionKeyInvalid);
  for (const std::string& bad : {std::string{},
                                 std::string{" "},
                                 key.text() + "0",
                                 "sha" + key.text(),
                                 std::string(500, ' ')}) {
    EXPECT_FALSE(SessionKey::parse(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace gcoord::security
