#include "security/credentials/password.h"

#include "security/credentials/error_details.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::security {
namespace {

// The least that is a cost at all: these tests are about everything else.
constexpr PasswordCost kCheap{4, 1, 1};

TEST(Password, ItsVerifierKnowsItAndNoOther) {
  const std::string verifier = hash_password("open sesame", kCheap).value();
  EXPECT_TRUE(check_password(verifier, "open sesame"));
  EXPECT_FALSE(check_password(verifier, "open sesamE"));
  EXPECT_FALSE(check_password(verifier, ""));
  EXPECT_FALSE(check_password(verifier, std::string(100'000, 'a')));
}

TEST(Password, AVerifierSaysItsAlgorithmAndCost) {
  EXPECT_TRUE(hash_password("a", kCheap).value().starts_with("$scrypt$ln=4,r=1,p=1$"));
  const std::string usual = hash_password("a").value();
  EXPECT_TRUE(usual.starts_with("$scrypt$ln=15,r=8,p=1$")) << usual;
  EXPECT_LE(usual.size(), kVerifierTextBytesMax);
  EXPECT_TRUE(verifier_valid(usual));
  EXPECT_TRUE(check_password(usual, "a"));
}

// RFC 7914, section 12: P = "pleaseletmein", S = "SodiumChloride", N = 16384, r = 8, p = 1. Their
// salt has 14 bytes and ours 16, so the hash is that of Python's hashlib for this salt.
TEST(Password, IsScryptAsOthersCompute) {
  const std::string verifier =
      "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGUhIQ==$UmYyNDO/YRuFmsgA6JK5baM1qTJw1bFvX2are1D2OBc=";
  EXPECT_TRUE(check_password(verifier, "pleaseletmein"));
  EXPECT_FALSE(check_password(verifier, "pleaseletmeout"));
}

TEST(Password, TwoVerifiersOfOnePasswordDiffer) {
  EXPECT_NE(hash_password("a", kCheap).value(), hash_password("a", kCheap).value());
}

TEST(Password, WhatIsNoPasswordIsRefused) {
  for (const std::string& bad : {std::string{},
                                 std::string(257, 'a'),
                                 std::string{"two\nlines"},
                                 std::string("zero\0byte", 9)}) {
    EXPECT_EQ(hash_password(bad, kCheap).status().detail(), kPasswordInvalid);
  }
  EXPECT_TRUE(hash_password(std::string(256, 'a'), kCheap).ok());
}

TEST(Password, ACostOutOfBoundsIsRefusedAndNeverPaid) {
  EXPECT_FALSE(hash_password("a", {30, 8, 1}).ok());
  std::string verifier = hash_password("a", kCheap).value();
  verifier.replace(verifier.find("ln=4"), 4, "ln=30");
  EXPECT_FALSE(verifier_valid(verifier));
  EXPECT_FALSE(check_password(verifier, "a"));
}

TEST(Password, AVerifierThatIsNoneKnowsNobody) {
  const std::string good = hash_password("a", kCheap).value();
  for (const std::string& bad : {std::string{},
                                 std::string{"$scrypt$"},
                                 std::string{"$bcrypt$10$abc"},
                                 "x" + good,
                                 good + "A",
                                 good.substr(0, good.size() - 4),
                                 std::string(10'000, '$')}) {
    EXPECT_FALSE(verifier_valid(bad)) << bad;
    EXPECT_FALSE(check_password(bad, "a")) << bad;
  }
}

TEST(Password, AWipedTextLeavesNothingInItsRoom) {
  for (const std::string text :
       {"hunter2", "a passphrase that is longer than what lies in place"}) {
    std::string secret = text;
    secret.resize(2);  // As after it was moved: the rest is still there.
    const char* const room = secret.data();
    const std::size_t bytes = secret.capacity();
    wipe(secret);
    EXPECT_TRUE(secret.empty());
    EXPECT_EQ(secret.data(), room);
    secret.resize(bytes, '\1');
    EXPECT_EQ(secret, std::string(bytes, '\1'));
    EXPECT_EQ(secret.data(), room) << "nothing was wiped elsewhere";
  }
}

TEST(Password, TheDecoyCostsAsMuchAndOpensForNobody) {
  EXPECT_TRUE(decoy_verifier().starts_with("$scrypt$ln=15,r=8,p=1$"));
  EXPECT_TRUE(verifier_valid(decoy_verifier()));
  EXPECT_FALSE(check_password(decoy_verifier(), "a"));
}

}  // namespace
}  // namespace gcoord::security
